package dap

import (
	"fmt"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// storyLimit bounds the events that a session keeps, in bytes.
const storyLimit = 64 << 20

// story is what a session knows of its pods. Pods are known by their places in the history, which are the numbers of
// their threads.
type story struct {
	h     *history.History
	lives *life.Lives
	sel   *agentpb.PodSelector
}

func newStory(info *agentpb.InfoResponse, sel *agentpb.PodSelector, limit int) (*story, error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	h := history.New(info, c)
	h.SetLimit(limit)
	return &story{h, life.New(h), sel}, nil
}

// add takes the next events, and calls each for every one of them.
func (st *story) add(b *agentpb.Batch, each func(*history.Record)) {
	first := st.h.First()
	st.h.Add(b, func(r *history.Record) {
		st.lives.Apply(r)
		if each != nil {
			each(r)
		}
	})
	if now := st.h.First(); now != first {
		st.lives.Forget(now)
	}
}

// name returns the pod's namespace and name, safe to show; "": the session has no such pod.
func (st *story) name(place int) string {
	if place <= 0 || place >= st.h.Pods() {
		return ""
	}
	p := st.h.Pod(place).Entity
	if p.Name == "" || !st.sel.Selects(p.Namespace, p.Name) {
		return ""
	}
	return words.Clean(p.NamespacedName())
}

// only returns a selector of one pod and no other.
func (st *story) only(place int) *agentpb.PodSelector {
	p := st.h.Pod(place).Entity
	return &agentpb.PodSelector{Namespace: p.Namespace, Name: p.Name, Uid: p.UID}
}

// state returns the verdict on a pod before a position.
func (st *story) state(place, at int) life.State {
	w := st.world(at)
	s, _ := st.lives.StateAt(w, place, w.Time)
	return s
}

func (st *story) world(at int) *life.World {
	if at >= st.h.End() {
		return st.lives.Now()
	}
	return st.lives.At(at)
}

// gone reports whether a pod has left the node.
func (st *story) gone(place int) bool { return st.state(place, st.h.End()) == life.Gone }

// thread returns a pod as a thread. Its name has where the pod is, so that a list of many shows which one to look at.
func (st *story) thread(place, at int) dap.Thread {
	name := st.name(place)
	w := st.world(at)
	state, _ := st.lives.StateAt(w, place, w.Time)
	name += " · " + state.Text().En
	if place < len(w.Pods) {
		if step := st.lives.StepOf(w.Pod(place)); step != 0 {
			name += " · " + words.Clean(st.h.Step(step).Name)
		}
	}
	return dap.Thread{Id: place, Name: name}
}

// why returns why a pod is where it is, by its story: a sentence, and a line for each place where that is seen.
func (st *story) why(place, at int) string {
	w, of := st.world(at), st.h.Pod(place).Entity
	known := evidence.Snapshot{Name: evidence.Name{Namespace: of.Namespace, Name: of.Name, UID: of.UID}, Taken: time.Unix(0, st.h.Origin()+w.Time)}
	explain.Add(&known, explain.Story{History: st.h, Lives: st.lives}, place, explain.Position{At: at, Now: w.Time})
	r := causes.Explain(&known)
	text := r.Summary(words.English)
	f := r.First()
	if f == nil {
		f = r.Whereabouts
	}
	for _, e := range f.Evidence {
		text += "\n  " + e.Where.En
		if e.Seq != 0 {
			text += fmt.Sprintf(", event %d", e.Seq)
		}
	}
	return text
}

// took returns how long a call has taken.
func (st *story) took(ref, at int) time.Duration {
	c := st.h.Call(ref, at)
	if c.Span == nil {
		return 0
	}
	return c.Took(st.world(at).Time)
}
