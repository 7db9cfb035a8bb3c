package agent

import (
	"context"

	"github.com/podstep/podstep/agent/agentpb"
)

// state returns what a pod is doing, by the events that were put; nil: it is gone.
func (a *Agent) state(p *pod) *agentpb.PodState {
	_, mono := a.now()
	out := a.verdicts.State(&p.State.journal, mono)
	if out == nil {
		return nil
	}
	held, _ := a.holds.List(&p.State.holding)
	for _, h := range held {
		out.Holds = append(out.Holds, h.Proto())
	}
	out.Seq = a.journal.LastOf(&p.State.journal)
	return out
}

// settle waits until the journal and the verdicts include all that the probes had seen before the call.
func (a *Agent) settle(ctx context.Context) error {
	for _, p := range a.probes {
		p.catchUp(ctx)
	}
	select {
	case <-a.journal.Kept():
		return nil
	case <-a.closed:
		return nil // the verdicts are what they are
	case <-ctx.Done():
		return ctx.Err()
	}
}
