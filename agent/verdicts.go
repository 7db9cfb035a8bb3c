package agent

import (
	"context"
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

// verdicts knows what every pod is doing. It finds that out from the events, in their order, by package life, which
// clients use too. So the agent and its clients never disagree.
type verdicts struct {
	mu    sync.Mutex
	h     *events.History
	lives *life.Lives
}

func newVerdicts(info *agentpb.InfoResponse, c *probes.Catalogue) *verdicts {
	h := events.New(info, c)
	h.SetLimit(verdictBytes)
	h.SetCallLimit(verdictCalls)
	return &verdicts{h: h, lives: life.NewPresent(h)}
}

// addEvent takes the next event into account. The journal calls it before any client is sent the event.
func (v *verdicts) addEvent(e *event, raw []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := e.pod
	if p != nil && p.State.forgotten {
		return // it would be kept for good: nobody can ask for it, or forget it again
	}
	if p != nil && !p.State.learned {
		p.State.place = v.h.Learn(p.Proto())
		p.State.learned = p.Named() // until then only its uid is known
	}
	first := v.h.First()
	v.h.AddEvent(raw, v.lives.Apply)
	if now := v.h.First(); now != first {
		v.lives.Forget(now)
	}
	if p == nil {
		return
	}
	lp := v.lives.Now().Pod(p.State.place)
	if st, since := v.lives.State(lp, lp.Last); st == life.Gone {
		p.SetGone(max(v.h.Origin()+since, 1))
	} else {
		p.SetGone(0)
	}
}

// forget drops a pod that the agent forgets.
func (v *verdicts) forget(p *pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if p.State.place != 0 {
		v.h.Release(p.ID)
		v.lives.Release(p.State.place)
	}
	p.State.place, p.State.learned, p.State.forgotten = 0, false, true
}

// stateOf returns the state of a pod at a time since the agent began, in nanoseconds; nil: the pod is gone, or no event
// has named it yet.
func (v *verdicts) stateOf(p *pod, mono int64) *agentpb.PodState {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !p.State.learned {
		return nil
	}
	return v.lives.PodState(p.Proto(), v.lives.Now().Pod(p.State.place), mono)
}

// state returns what a pod is doing, by the events that were put; nil: it is gone.
func (a *Agent) state(p *pod) *agentpb.PodState {
	_, mono := a.now()
	out := a.verdicts.stateOf(p, mono)
	if out == nil {
		return nil
	}
	held, _ := a.holds.list(a, p)
	for _, h := range held {
		out.Holds = append(out.Holds, h.proto())
	}
	out.Seq = a.journal.lastOf(p)
	return out
}

// settle waits until the verdicts include every event that was put before the call.
func (a *Agent) settle(ctx context.Context) error {
	select {
	case <-a.journal.kept():
		return nil
	case <-a.closed:
		return nil // the verdicts are what they are
	case <-ctx.Done():
		return ctx.Err()
	}
}
