package causes

import (
	"cmp"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/explain/columns"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
)

// A check looks for causes that take more than one item of a snapshot. It returns a finding for
// each cause that it finds.
type check func(*Case) []Finding

// checks are all of them, by the stage that they belong to. Their order does not matter.
var checks = slices.Concat(
	controllersChecks, rolloutChecks, schedulingChecks, nodeChecks, sourceChecks, admissionChecks, sandboxChecks, volumesChecks,
	imageChecks, startChecks, initChecks, readyChecks, terminatingChecks, objectsChecks, generalChecks,
)

// Explain goes from a snapshot to a report. It never changes the snapshot.
func Explain(s *evidence.Snapshot) *Report {
	c := newCase(s)
	r := &Report{Pod: s.Name, Phase: c.Phase, Columns: columns.Of(s), Restart: columns.AfterRestart(s), Unseen: s.Unseen, Taken: s.Taken}
	r.State, r.Since = c.stateOf()
	if s.Story != nil {
		r.Stack = s.Story.Stack
	}
	r.unknown = c.Phase == Missing && s.Story == nil && len(s.Cluster.Owners) == 0
	if c.Spec != nil {
		r.Pod.UID = string(c.Spec.UID)
	}
	r.Whereabouts = c.whereabouts(r)
	if c.gone() {
		return r
	}
	if r.Findings = held(c); len(r.Findings) > 0 {
		return r // all else may come of the hold
	}
	r.Findings = c.arrange(c.byNode(c.merge(slices.DeleteFunc(append(c.matched(), c.checked()...), c.isOver))))
	c.complete(r)
	if len(r.Findings) > 0 && (r.State == life.Stuck || r.State == life.Retrying) {
		c.count(&r.Findings[0])
	}
	c.offerRetry(r)
	r.nameCulprits()
	r.compareReadings(s)
	r.addEdits(c)
	return r
}

// count adds to a finding how often it failed, and when the next try comes, as the pod's story has it. The worker's next look
// at the pod is a try only if a turn failed, and no back-off of unknown length is in its way.
func (c *Case) count(f *Finding) {
	if c.Story == nil {
		return
	}
	f.Tries = c.Story.Tries
	next := time.Time{}
	if f.Tries > 0 {
		next = c.Story.Next
	}
	for _, k := range c.Story.Containers {
		if k.BackOff == "" || f.Subject != "" && f.Subject != k.Name {
			continue
		}
		f.Tries = k.Failed
		if k.Until.IsZero() || k.Until.After(next) {
			next = k.Until
		}
	}
	f.Next = cmp.Or(f.Next, next)
}

// gone reports whether nobody has the pod any more, so that only its past is known.
func (c *Case) gone() bool { return c.Spec == nil && c.Story != nil && c.Story.State == "gone" }

// matched returns the findings of the table's matches.
func (c *Case) matched() (out []Finding) {
	for _, cause := range All() {
		for i := range cause.When {
			m := &cause.When[i]
			in := cause.In
			if len(m.In) > 0 {
				in = m.In
			}
			if c.in(in) && c.Age() >= max(cause.Young, m.Young) {
				out = append(out, c.match(cause, m)...)
			}
		}
	}
	return out
}

// checked returns the findings of the checks.
func (c *Case) checked() (out []Finding) {
	for _, look := range checks {
		for _, f := range look(c) {
			if f.Cause != nil && c.in(f.Cause.In) && c.Age() >= f.Cause.Young {
				out = append(out, f)
			}
		}
	}
	return out
}

// merge makes one finding of several of the same cause and subject, with the evidence of all. A
// finding without a subject joins one with a subject.
func (c *Case) merge(all []Finding) (out []Finding) {
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Compare(b.Confidence.rank()*2+min(1, len(b.Subject)), a.Confidence.rank()*2+min(1, len(a.Subject)))
	})
	for _, f := range all {
		i := slices.IndexFunc(out, func(o Finding) bool {
			return o.Cause == f.Cause && (o.Subject == f.Subject || f.Subject == "" || o.Subject == "")
		})
		if i < 0 {
			shown := f.Evidence
			f.Evidence = nil
			for _, e := range shown {
				f.show(e)
			}
			out = append(out, f)
			continue
		}
		out[i].join(&f)
	}
	return out
}

// join adds what another finding of the same cause knows.
func (f *Finding) join(other *Finding) {
	for _, e := range other.Evidence {
		f.show(e)
	}
	for k, v := range other.Args {
		if f.Args[k] == "" {
			f.Args[k] = v
		}
	}
	f.Subject = cmp.Or(f.Subject, other.Subject)
	if f.Since.IsZero() || !other.Since.IsZero() && other.Since.Before(f.Since) {
		f.Since = other.Since
	}
	if f.Next.IsZero() {
		f.Next = other.Next
	}
	f.Nodes = max(f.Nodes, other.Nodes)
}

// show adds an evidence. One place of the kubelet's code logs a line at each try: its newest
// line stands for all.
func (f *Finding) show(e Evidence) {
	i := slices.IndexFunc(f.Evidence, func(o Evidence) bool {
		return o == e || e.Source == evidence.Log && o.Source == e.Source && o.Where == e.Where
	})
	switch {
	case i < 0:
		f.Evidence = append(f.Evidence, e)
	case e.At.After(f.Evidence[i].At):
		f.Evidence[i] = e
	}
}

// answered is the rank up to which a cause says no more than that nobody says why: one that is found answers it.
const answered = 2

// arrange puts the causes in order, the most specific first, and marks those that are
// consequences of others. It leaves out a cause that only follows from others if none of these
// is found, and one that others answer.
func (c *Case) arrange(all []Finding) []Finding {
	order := func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(b.Confidence.rank(), a.Confidence.rank()),
			cmp.Compare(b.Cause.Rank, a.Cause.Rank),
			cmp.Compare(b.weight, a.weight),
			cmp.Compare(b.Nodes, a.Nodes),
			cmp.Compare(a.Cause.place, b.Cause.place),
			cmp.Compare(a.Subject, b.Subject),
		)
	}
	slices.SortStableFunc(all, order)
	for i := range all {
		for j := range all {
			if c.follows(&all[i], &all[j]) && !c.follows(&all[j], &all[i]) {
				all[i].Of = all[j].Cause.ID
				break
			}
		}
	}
	all = slices.DeleteFunc(all, func(f Finding) bool {
		return f.Cause.Follows && f.Of == "" || f.Of != "" && f.Cause.Rank <= answered
	})
	slices.SortStableFunc(all, func(a, b Finding) int {
		if (a.Of == "") != (b.Of == "") {
			if a.Of == "" {
				return -1
			}
			return 1
		}
		return order(a, b)
	})
	return all
}

// follows reports whether a finding is a consequence of another. In one stage, a finding about
// one container is no consequence of a finding about another container.
func (c *Case) follows(f, other *Finding) bool {
	if f.Cause.stage == other.Cause.stage && f.Subject != other.Subject && c.specOf(f.Subject) != nil && c.specOf(other.Subject) != nil {
		return false
	}
	return f.Cause.isAfter(other.Cause.ID)
}
