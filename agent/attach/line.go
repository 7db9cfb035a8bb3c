package attach

import (
	"context"
	"go/token"
	"slices"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/uprobe"
)

// debugger returns what the agent can ask of Delve. parks states whether Delve holds one goroutine while all others
// go on.
func (p *debugged) debugger(parks bool) *agent.Debugger {
	d := &agent.Debugger{Look: p.answerLook}
	if p.holder != nil && parks {
		d.Find, d.Step, d.Forget = p.findPlace, p.stepLine, p.endStep
	}
	return d
}

// lineRule selects the goroutines that are held at lines: those of a pod's worker, in packages for which it is known
// which functions take a lock.
func (p *debugged) lineRule() delve.LineRule {
	out := delve.LineRule{Within: p.workers(), Locking: p.probe.Locks(), Packages: lookedAt(p.catalogue)}
	for i := range p.catalogue.Steps {
		for _, locked := range p.catalogue.Steps[i].Hold.NotWithin {
			out.Locking = append(out.Locking, p.catalogue.Step(locked).Symbol)
		}
	}
	return out
}

// lookedAt returns the packages of which it is known which functions have a lock: those that steps are in.
func lookedAt(c *probes.Catalogue) map[string]bool {
	out := map[string]bool{}
	for i := range c.Steps {
		if symbol := c.Steps[i].Symbol; symbol != "" {
			out[inside.PackageOf(symbol)] = true
		}
	}
	return out
}

// workers returns the functions with which the goroutines of pods' workers begin, and the goroutines that workers
// wait for.
func (p *debugged) workers() []string {
	return uprobe.NewWithin(p.catalogue, p.probe.Functions).Workers()
}

// findPlace looks for a place in the kubelet's code.
func (p *debugged) findPlace(_ context.Context, at string) (out []agent.Found, err error) {
	all, err := p.client.Find(at)
	for _, f := range all {
		out = append(out, agent.Found{Address: f.Address, Frame: frameProto(&f.Frame)})
	}
	return out, err
}

// lineSteps are the ways of stepping by line.
var lineSteps = map[agentpb.StepMode]delve.LineStep{
	agentpb.StepMode_LINE_OVER: delve.LineOver, agentpb.StepMode_LINE_INTO: delve.LineInto, agentpb.StepMode_LINE_OUT: delve.LineOut,
}

// stepLine makes a held goroutine stop again at a line, which depends on mode.
func (p *debugged) stepLine(ctx context.Context, goroutine uint64, mode agentpb.StepMode) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	return p.client.Step(ctx, goroutine, lineSteps[mode])
}

// endStep takes that back. Nothing is left to take back if the goroutine is held again, or if podstep ends.
func (p *debugged) endStep(goroutine uint64) {
	ctx, cancel := context.WithTimeout(p.host.Context(), lookWithin)
	defer cancel()
	_ = p.client.Step(ctx, goroutine, delve.LineNone)
}

// heldInside handles Delve's report that it holds a goroutine at a line. It asks the agent whether the pod is to be
// held, inside the innermost call on that goroutine.
func (p *debugged) heldInside(h delve.Held) {
	m := &meeting{held: &h.Held, process: p.holder.process(), ended: make(chan struct{})}
	p.holder.addHold(m)
	call := p.innermost(h.Goroutine)
	p.host.Go(func() {
		p.holder.hold(m, func(ctx context.Context) {
			call.StopInside(ctx, agent.Found{Address: h.Place, Frame: frameProto(h.Line)})
		})
	})
}

// innermost returns the innermost shown call on a goroutine; nil: there is none.
func (p *debugged) innermost(goroutine uint64) *agent.Call {
	on, _ := p.watched.Of(goroutine)
	for _, c := range slices.Backward(on.Calls) {
		if call, ok := c.State.(*agent.Call); ok && call != nil {
			return call
		}
	}
	return nil
}

// mostGoroutines bounds how many goroutines of a pod are listed.
const mostGoroutines = 32

// goroutines returns a held goroutine, and then the others on which calls about its pod are under way.
func (p *debugged) goroutines(held uint64) (out []uprobe.Running) {
	uids := map[string]bool{}
	on, ok := p.watched.Of(held)
	if !ok {
		return nil
	}
	for _, c := range on.Calls {
		if uid := uidOf(c); uid != "" {
			uids[uid] = true
		}
	}
	out = append(out, on)
	for _, r := range p.watched.All() {
		about := slices.ContainsFunc(r.Calls, func(c *uprobe.Call) bool { return uids[uidOf(c)] })
		if about && r.Number != held && len(out) < mostGoroutines {
			out = append(out, r)
		}
	}
	return out
}

func goroutinesProto(all []uprobe.Running) (out []*agentpb.Goroutine) {
	for _, r := range all {
		out = append(out, &agentpb.Goroutine{Id: r.Number, Step: r.Calls[len(r.Calls)-1].Step.Name})
	}
	return out
}

func frameProto(f *delve.Frame) *agentpb.StackFrame {
	return &agentpb.StackFrame{Function: f.Function, File: f.File, Line: int32(f.Line)}
}

// shownVariables returns, by function, the variables that the catalogue shows as fields of the function's step.
func shownVariables(c *probes.Catalogue) map[string][]string {
	out := map[string][]string{}
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Symbol == "" || s.Closure != "" {
			continue
		}
		for _, f := range s.Fields {
			if name := f.Read(); token.IsIdentifier(name) {
				out[s.Symbol] = append(out[s.Symbol], name)
			}
		}
	}
	return out
}
