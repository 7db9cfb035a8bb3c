package state

import (
	"time"

	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// gathered is what other sources than its story said of a pod.
type gathered struct {
	uid      string
	snapshot *evidence.Snapshot
	asking   string // the uid of the pod about which podstep asks now
}

// reportKey is what a report was made from.
type reportKey struct {
	pod, at       int
	last, quarter int64
	from          *evidence.Snapshot
}

// reportCache is the last report.
type reportCache struct {
	reportKey
	report *causes.Report
}

// reportsEvery is how long the report on the selected pod is shown before it is made anew, if nothing happens.
const reportsEvery = 250 * time.Millisecond

// SetAsking sets the pod about which podstep asks now; empty if it asks about none.
func (s *State) SetAsking(uid string) { s.gathered.asking = uid }

// SetSnapshot sets what other sources than its story said of a pod.
func (s *State) SetSnapshot(uid string, snapshot *evidence.Snapshot) {
	s.gathered.uid, s.gathered.snapshot = uid, snapshot
	s.version++
}

// report returns why the selected pod is where it is. It goes by the pod's story, and while the end is shown, also
// by what was gathered. It is made anew at each event of the pod, and otherwise now and then.
func (s *State) report(v *view) *causes.Report {
	key := reportKey{pod: s.pod, at: none, last: v.pod(s.pod).Last, quarter: v.now / int64(reportsEvery), from: s.snapshotFor(s.pod, v)}
	if s.frozen() {
		key.at = v.at
	}
	if c := &s.reports; c.report == nil || c.reportKey != key {
		made := *s.reportOf(s.pod, v) // which may be kept elsewhere
		s.addVictims(&made, v)
		s.reports = reportCache{key, &made}
	}
	return s.reports.report
}

// maxLookedAt bounds the pods among which the victims of a culprit are looked for.
const maxLookedAt = 100

// addVictims adds to the report on the selected pod the other stuck pods that its culprit keeps.
func (s *State) addVictims(r *causes.Report, v *view) {
	looked := 0
	for i := 1; r.Culprit() != nil && i < s.h.Pods() && looked < maxLookedAt; i++ {
		if state, _ := s.verdictOf(i, v); i == s.pod || state > life.Stuck {
			continue
		}
		looked++
		e := s.podAt(i).Entity
		r.AddVictim(evidence.Name{Namespace: e.Namespace, Name: e.Name, UID: e.UID}, s.summaryOf(i, v).culprit)
	}
}

// reportOf makes the report on a pod.
func (s *State) reportOf(i int, v *view) *causes.Report {
	if r := s.withoutNode(i, v.pod(i), v); r != nil && s.snapshotFor(i, v) == nil {
		return r
	}
	return causes.Explain(s.evidenceAt(i, v))
}

// snapshotFor returns what was gathered about a pod, as snapshotOf; nil if the pod has recovered since: podstep does not ask
// again about a pod that is well.
func (s *State) snapshotFor(i int, v *view) *evidence.Snapshot {
	g := s.snapshotOf(i)
	if g == nil {
		return nil
	}
	switch state, since := s.verdictOf(i, v); state {
	case life.Working, life.Idle, life.Done, life.Gone:
		if g.Taken.UnixNano() < s.h.Origin()+since {
			return nil
		}
	}
	return g
}

// snapshotOf returns what was gathered about a pod; nil if that is another one, or if an earlier time is shown.
func (s *State) snapshotOf(i int) *evidence.Snapshot {
	if s.frozen() || s.link == screen.LinkReplay || s.gathered.uid == "" || s.gathered.uid != s.podAt(i).Entity.UID {
		return nil
	}
	return s.gathered.snapshot
}

// evidenceAt returns all that is known of a pod at the position that is shown.
func (s *State) evidenceAt(i int, v *view) *evidence.Snapshot {
	e := s.podAt(i).Entity
	now := time.Unix(0, s.h.Origin()+v.now)
	if s.h.Origin() == 0 { // no event has come yet
		now = time.Unix(0, s.clock)
	}
	all := evidence.Snapshot{Name: evidence.Name{Namespace: e.Namespace, Name: e.Name, UID: e.UID}}
	if g := s.snapshotFor(i, v); g != nil {
		all = *g
	}
	all.Taken = now
	explain.Add(&all, s.explained(), i, v.position())
	return &all
}

// summaryKey is what the summary of a pod's report was made for.
type summaryKey struct {
	last, now int64
	lang      words.Lang
	from      *evidence.Snapshot
}

// summary is the part of a pod's report that is asked for of many pods.
type summary struct {
	summaryKey
	title   string // of the first cause
	culprit *causes.Culprit
}

// summariesEvery is how long a summary is used before it is made anew, and maxSummaries how many are kept.
const (
	summariesEvery = 2 * time.Second
	maxSummaries   = 500
)

// summaryOf returns the summary of the report on a pod. It is made anew at each event of the pod, and otherwise now and
// then: the list asks for it in every frame.
func (s *State) summaryOf(i int, v *view) summary {
	key := summaryKey{v.pod(i).Last, v.now / int64(summariesEvery), s.lang, s.snapshotFor(i, v)}
	if known, ok := s.summaries[i]; ok && known.summaryKey == key {
		return known
	}
	r := s.reportOf(i, v)
	made := summary{key, r.Main().Title(s.lang), r.Culprit()}
	if s.summaries == nil || len(s.summaries) >= maxSummaries {
		s.summaries = map[int]summary{}
	}
	s.summaries[i] = made
	return made
}

// causeTitle returns the title of the first cause of a pod, or where the pod is if no cause is more than possible.
func (s *State) causeTitle(i int, v *view) string { return s.summaryOf(i, v).title }

// gatheredTitle returns the title of the first cause of a pod about which something was gathered; empty for others.
func (s *State) gatheredTitle(i int, v *view) string {
	if s.snapshotOf(i) == nil {
		return ""
	}
	return s.causeTitle(i, v)
}
