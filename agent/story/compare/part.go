package compare

import (
	"slices"

	"github.com/podstep/podstep/agent/story/critical"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Part is the part of a pod's story that is compared.
type Part uint8

// The parts.
const (
	Creation    Part = iota // from the first call until the pod runs
	Termination             // from what begins its end until it is gone
	All
)

// Parts are the names of the parts.
var Parts = []string{"creation", "termination", "all"}

func (p Part) String() string { return Parts[p] }

// PartNamed returns the part with a name. There must be one.
func PartNamed(name string) Part { return Part(slices.Index(Parts, name)) }

// Next returns the part after this one; after the last, the first.
func (p Part) Next() Part { return (p + 1) % Part(len(Parts)) }

// Text returns what a part is called.
func (p Part) Text(l words.Lang) string {
	return l.In([...]probes.Text{
		Creation: words.Text("creation", "创建"), Termination: words.Text("termination", "终止"), All: words.Text("the whole story", "整个过程"),
	}[p])
}

// Moment is a moment as of which stories are read: a position, the time there, and what the pods were doing.
type Moment struct {
	At    int
	Now   int64
	World *life.World
}

// bounds finds when the part begins and ends, as far as that is known without the part's calls. It reports whether
// the pod has come to the part.
func (r *reader) bounds(m Moment) (begun bool) {
	r.end = m.Now
	if r.story.Part == Creation {
		r.end = critical.End(r.p, r.at, m.Now)
		return true
	}
	pod := m.World.Pod(r.place)
	if pod.Finished {
		r.finished = pod.GoneAt
	}
	if gone, over := r.gone(pod); over {
		r.end = min(gone, m.Now)
	}
	if r.story.Part == All {
		return true
	}
	for _, mark := range r.p.Marks {
		if mark.Chapter == outline.Termination && mark.Pos < r.at {
			r.begin, r.fixed = r.start(mark), true
			return true
		}
	}
	return false
}

// start returns when a chapter began: with the call that showed it, or with the turn of that call.
func (r *reader) start(m outline.Mark) int64 {
	if it := r.p.Items.At(m.Item); it != nil {
		if sp := r.h.Span(it.Span); sp != nil {
			return min(sp.Start, m.At)
		}
	}
	return m.At
}

// gone returns when the kubelet let go of the pod, or was done with a pod that stays at the API server. over is false
// if that has not happened.
func (r *reader) gone(pod *life.Pod) (at int64, over bool) {
	switch {
	case pod.Removed && !pod.Worker && pod.At == history.None:
	case pod.Finished && !pod.Doomed:
		return pod.GoneAt, true
	default:
		return 0, false
	}
	at = pod.GoneAt
	for i := r.p.Spans.First; i < r.p.Spans.End(); i++ {
		if sp := r.h.Span(*r.p.Spans.At(i)); sp != nil && sp.Over(r.at) && r.h.Role(sp.Step) == probes.RoleRemove {
			at = max(at, sp.End)
		}
	}
	if at == 0 {
		at = pod.Last
	}
	return at, true
}

// between has the stages between a pod's source and its worker. An older pod also has calls of other stages, for
// which its worker does not wait.
var between = []string{"source", "merge", "syncloop", "podmanager", "worker", "status"}

func (r *reader) isBetween(sp *history.Span) bool {
	return slices.Contains(between, r.h.Step(sp.Step).Stage)
}

// before reports whether a call is on the pod's way to its worker.
func (r *reader) before(sp *history.Span) bool {
	switch {
	case r.came:
		return false
	case r.fixed:
		return r.noTurns() || r.isBetween(sp)
	}
	return sp.Sync == 0
}

// noTurns reports whether the probe saw no turns of the pod's worker: then all the pod's calls count as on its way.
func (r *reader) noTurns() bool { return r.p.Turns.End() == 0 }

// after reports whether a call comes between the end of the pod's worker and the end of the pod.
func (r *reader) after(sp *history.Span) bool {
	return r.finished != 0 && sp.Start >= r.finished && r.isBetween(sp)
}
