package explain

import (
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Story is what is known of the pods of a session.
type Story struct {
	History *history.History
	Lives   *life.Lives
}

// Position is a place in a story: a position in its history, and the session time at that position.
type Position struct {
	At  int
	Now int64
}

// reader reads the story of one pod up to a position.
type reader struct {
	h     *history.History
	lives *life.Lives
	world *life.World
	at    int
	now   int64
	knows probes.Knows

	pod   int
	p     *life.Pod
	state life.State
	since int64
}

func newReader(s Story, pod int, at Position) *reader {
	r := &reader{h: s.History, lives: s.Lives, world: s.Lives.At(at.At), at: at.At, now: at.Now, knows: s.History.Knows(at.At), pod: pod}
	r.p = r.world.Pod(pod)
	r.state, r.since = r.lives.StateAt(r.world, pod, r.now)
	return r
}

// waits reports whether the pod waits, for however long: nothing fails, and nobody does anything for it.
func (r *reader) waits() bool {
	return r.state == life.Waiting || r.state == life.Stuck && r.p.At == history.None && r.p.Failed == history.None
}

// lastCall returns the pod's last call of a role that has ended and that wanted accepts.
func (r *reader) lastCall(role probes.Role, wanted func(*history.Call) bool) (call history.Call, ok bool) {
	step := r.h.StepFor(role)
	ref := r.h.Back(r.pod, r.at, func(ref int, sp *history.Span) bool {
		if sp.Step != step || !sp.Over(r.at) {
			return false
		}
		call = r.h.Call(ref, r.at)
		return wanted(&call)
	})
	return call, ref != history.None
}

// node returns the name of the node of which the story is.
func (r *reader) node() string { return words.Clean(r.h.EpochBefore(r.at).Info.GetNode()) }

// wall converts a session time to the wall clock's time.
func (r *reader) wall(t int64) time.Time { return wallOf(r.h, t) }

func wallOf(h *history.History, t int64) time.Time { return time.Unix(0, h.Origin()+t) }

// wallOr converts a session time to the wall clock's time. An unknown time, 0, becomes the zero time.
func (r *reader) wallOr(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return r.wall(t)
}
