package gather

import (
	"errors"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace"
)

// Trace is a recording as the only source: what was known at its end.
type Trace struct {
	story explain.Story
	file  string
	// fault is where the file breaks off; nil: the file is whole.
	fault *trace.Fault
	// at is the moment that is asked about; zero: that of the last event.
	at time.Time
}

// ReadRecording reads a recording; file names it for people. One that breaks off counts as far as it goes. The moment
// that is asked about is at, which is not before the last event; the zero time is that of the last event.
func ReadRecording(file string, r trace.Recording, at time.Time) (*Trace, error) {
	story, err := readStory(r.Header().Info, r.Next)
	var fault *trace.Fault
	if err != nil && !errors.As(err, &fault) {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return &Trace{story, file, fault, at}, nil
}

// Named returns the pods of a name, those that came last first. An empty namespace stands for
// any. A pod that was made anew under its name counts once.
func (t *Trace) Named(namespace, name string) (out []evidence.Name) {
	known := map[string]bool{}
	for i := t.story.History.Pods() - 1; i > 0; i-- {
		e := t.story.History.Pod(i).Entity
		if e.Name == name && (namespace == "" || e.Namespace == namespace) && !known[e.Namespace] {
			known[e.Namespace] = true
			out = append(out, evidence.Name{Namespace: e.Namespace, Name: e.Name, UID: e.UID})
		}
	}
	return out
}

// Pod returns what is known of a pod at the end.
func (t *Trace) Pod(name evidence.Name) *evidence.Snapshot {
	h := t.story.History
	at := explain.Position{At: h.End(), Now: t.now()}
	taken := t.End()
	s := &evidence.Snapshot{Name: name, Taken: taken}
	if pod, ok := h.PodOf(name.UID); ok {
		explain.Add(s, t.story, pod, at)
	}
	s.Saw(evidence.Trace, t.file, taken)
	s.Unseen = t.unseen()
	return s
}

// unseen returns the part that is missing after the place where the file breaks off.
func (t *Trace) unseen() []evidence.Unseen {
	if t.fault == nil {
		return nil
	}
	return []evidence.Unseen{{Source: evidence.Trace, What: "the rest of " + t.file, Why: evidence.Failed, Message: t.fault.Error()}}
}

// States returns what the pods are doing at the end that a selector chooses, the worst first.
func (t *Trace) States(of *agentpb.PodSelector) (out []*agentpb.PodState) {
	h, lives := t.story.History, t.story.Lives
	for i := 1; i < h.Pods(); i++ {
		e := h.Pod(i).Entity
		if !of.Selects(e.Namespace, e.Name) || of.GetUid() != "" && of.GetUid() != e.UID {
			continue
		}
		pod := &agentpb.Pod{Namespace: e.Namespace, Name: e.Name, Uid: e.UID}
		if s := lives.PodState(pod, lives.Now().Pod(i), t.now()); s != nil {
			out = append(out, s)
		}
	}
	life.SortWorst(out)
	return out
}

// now returns the moment that is asked about, as session time.
func (t *Trace) now() int64 {
	h := t.story.History
	if t.at.IsZero() || h.Origin() == 0 {
		return h.Last()
	}
	return max(h.Last(), t.at.UnixNano()-h.Origin())
}

// End returns the moment that is asked about.
func (t *Trace) End() time.Time { return time.Unix(0, t.story.History.Origin()+t.now()) }

// Broken says, in a line, which part is missing because the file breaks off; nothing if the file is whole.
func (t *Trace) Broken() (out []string) {
	for _, u := range t.unseen() {
		out = append(out, u.String())
	}
	return out
}

// All returns the snapshots of all pods that are there at the end.
func (t *Trace) All() *Many {
	out := &Many{Unseen: t.unseen()}
	for i := 1; i < t.story.History.Pods(); i++ {
		e := t.story.History.Pod(i).Entity
		s := t.Pod(evidence.Name{Namespace: e.Namespace, Name: e.Name, UID: e.UID})
		if s.Story == nil || s.Story.State == life.Gone.String() {
			continue
		}
		out.Looked++
		out.Pods = append(out.Pods, s)
	}
	return out
}
