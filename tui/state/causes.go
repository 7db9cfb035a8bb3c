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

// reportCache is the last report, and what it was made from.
type reportCache struct {
	pod, at int
	second  int64
	from    *evidence.Snapshot
	report  *causes.Report
}

// SetAsking sets the pod about which podstep asks now; empty if it asks about none.
func (s *State) SetAsking(uid string) { s.gathered.asking = uid }

// SetSnapshot sets what other sources than its story said of a pod.
func (s *State) SetSnapshot(uid string, snapshot *evidence.Snapshot) {
	s.gathered.uid, s.gathered.snapshot = uid, snapshot
	s.version++
}

// report returns why the selected pod is where it is. It goes by the pod's story, and while the end is shown, also
// by what was gathered. It is made anew once a second.
func (s *State) report(v *view) *causes.Report {
	if r := s.withoutNode(s.pod, v.pod(s.pod), v); r != nil && s.snapshotOf(s.pod) == nil {
		return r
	}
	key := reportCache{pod: s.pod, at: none, second: v.now / int64(time.Second), from: s.snapshotOf(s.pod)}
	if s.frozen() {
		key.at = v.at
	}
	if c := &s.reports; c.report != nil && c.pod == key.pod && c.at == key.at && c.second == key.second && c.from == key.from {
		return c.report
	}
	key.report = causes.Explain(s.evidenceAt(s.pod, v))
	s.reports = key
	return key.report
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
	if g := s.snapshotOf(i); g != nil {
		all = *g
	}
	all.Taken = now
	explain.Add(&all, s.explained(), i, v.position())
	return &all
}

// titleKey is what the title of a pod's first cause was made for.
type titleKey struct {
	last, now int64
	lang      words.Lang
	from      *evidence.Snapshot
}

type titled struct {
	titleKey
	text string
}

// titlesEvery is how long a title is shown before it is made anew, and maxTitles how many are kept.
const (
	titlesEvery = 2 * time.Second
	maxTitles   = 500
)

// causeTitle returns the title of the first cause of a pod in trouble; empty if none is known. It is made anew at each
// event of the pod, and otherwise now and then: the list asks for it in every frame.
func (s *State) causeTitle(i int, v *view) string {
	key := titleKey{v.pod(i).Last, v.now / int64(titlesEvery), s.lang, s.snapshotOf(i)}
	if t, ok := s.titles[i]; ok && t.titleKey == key {
		return t.text
	}
	text := ""
	if r := causes.Explain(s.evidenceAt(i, v)); len(r.Findings) > 0 && r.Findings[0].Confidence != causes.Possible {
		text = r.Findings[0].Title(s.lang)
	}
	if s.titles == nil || len(s.titles) >= maxTitles {
		s.titles = map[int]titled{}
	}
	s.titles[i] = titled{key, text}
	return text
}

// gatheredTitle returns the title of the first cause of a pod about which something was gathered; empty for others.
func (s *State) gatheredTitle(i int, v *view) string {
	if s.snapshotOf(i) == nil {
		return ""
	}
	return s.causeTitle(i, v)
}

// outlived reports whether the pod has recovered since something was gathered about it. Podstep does not ask again
// about a pod that is well.
func (s *State) outlived(v *view) bool {
	state, since := s.verdictOf(s.pod, v)
	switch state {
	case life.Working, life.Idle, life.Done:
		return s.snapshotOf(s.pod).Taken.UnixNano() < s.h.Origin()+since
	}
	return false
}

// causeOf returns the line about the selected pod that goes by what was gathered. ok is false if nothing was
// gathered, or nothing that adds to the story.
func (s *State) causeOf(w *screen.Why, v *view) (out screen.Why, ok bool) {
	if s.pod == 0 || s.snapshotOf(s.pod) == nil || w.Mark == life.Held || w.Mark == life.Gone || s.outlived(v) {
		return out, false
	}
	r := s.report(v)
	if len(r.Findings) == 0 || !r.Wrong() || r.Findings[0].Confidence == causes.Possible {
		return out, false
	}
	f := &r.Findings[0]
	out = screen.Why{Mark: w.Mark, Text: f.Sentence(s.lang)}
	if len(f.Evidence) > 0 {
		out.Evidence = words.OneLine(s.lang.In(f.Evidence[0].Where))
	}
	return out, true
}
