package journal

import (
	"sync"

	"github.com/podstep/podstep/agent/agentpb"
	events "github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

const (
	// verdictBytes bounds the events that verdicts keep: enough for the calls that go on. Events that pods refer to are
	// kept beside them.
	verdictBytes = 1 << 20
	// verdictCalls is how many calls of a pod verdicts remember at least.
	verdictCalls = 64
)

// Verdicts know what every pod is doing. They find that out from the events, in their order, by package life, which
// clients use too. So the agent and its clients never disagree.
type Verdicts struct {
	mu    sync.Mutex
	h     *events.History
	lives *life.Lives
}

// NewVerdicts makes the verdicts of an agent that states this about itself.
func NewVerdicts(info *agentpb.InfoResponse, c *probes.Catalogue) *Verdicts {
	h := events.New(info, c)
	h.SetLimit(verdictBytes)
	h.SetCallLimit(verdictCalls)
	return &Verdicts{h: h, lives: life.NewPresent(h)}
}

// addEvent takes the next event into account. The journal calls it before any client is sent the event.
func (v *Verdicts) addEvent(e *Event, raw []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := e.Pod
	if p != nil && p.forgotten {
		return // it would be kept for good: nobody can ask for it, or forget it again
	}
	if p != nil && !p.learned {
		p.place = v.h.Learn(p.Proto())
		p.learned = p.Named() // until then only its uid is known
	}
	first := v.h.First()
	v.h.AddEvent(raw, v.lives.Apply)
	if now := v.h.First(); now != first {
		v.lives.Forget(now)
	}
	if p == nil {
		return
	}
	lp := v.lives.Now().Pod(p.place)
	if st, since := v.lives.State(lp, lp.Last); st == life.Gone {
		p.SetGone(max(v.h.Origin()+since, 1))
	} else {
		p.SetGone(0)
	}
}

// Forget drops a pod that the table of pods forgets.
func (v *Verdicts) Forget(p *Pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.place != 0 {
		v.h.Release(p.ID)
		v.lives.Release(p.place)
	}
	p.place, p.learned, p.forgotten = 0, false, true
}

// State returns the state of a pod at a time since the agent began, in nanoseconds; nil: the pod is gone, or no event
// has named it yet.
func (v *Verdicts) State(p *Pod, mono int64) *agentpb.PodState {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !p.learned {
		return nil
	}
	return v.lives.PodState(p.Proto(), v.lives.Now().Pod(p.place), mono)
}
