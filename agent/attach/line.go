package attach

import (
	"context"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/uprobe"
)

// debugger is what the agent can ask of Delve. parks: it holds goroutines alone.
func (p *debugged) debugger(parks bool) *agent.Debugger {
	d := &agent.Debugger{Look: p.look}
	if p.holder != nil && parks {
		d.Find, d.Step, d.Forget = p.find, p.step, p.forget
	}
	return d
}

// lineRule is on which goroutines is held at lines: those that a pod's worker has, within
// functions of which it is known whether they take a lock.
func (p *debugged) lineRule() delve.LineRule {
	out := delve.LineRule{Within: p.workers(), Locking: p.probe.Locks(), Packages: map[string]bool{}}
	for i := range p.catalogue.Steps {
		symbol := p.catalogue.Steps[i].Symbol
		slash := strings.LastIndexByte(symbol, '/') + 1
		name, _, _ := strings.Cut(symbol[slash:], ".")
		out.Packages[symbol[:slash]+name] = true
		for _, locked := range p.catalogue.Steps[i].Hold.NotWithin {
			out.Locking = append(out.Locking, p.catalogue.Step(locked).Symbol)
		}
	}
	return out
}

// workers are the functions with which the goroutines of pods' workers begin, and those that
// workers wait for.
func (p *debugged) workers() []string {
	all := begins(p.catalogue, p.probe.Functions)
	return slices.Concat(all[worker], all[killer])
}

// find looks for a place in the kubelet's code.
func (p *debugged) find(ctx context.Context, at string) (out []agent.Found, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	all, err := p.client.Find(ctx, at)
	for _, f := range all {
		out = append(out, agent.Found{Address: f.Address, Frame: frameProto(&f.Frame)})
	}
	return out, err
}

// lineSteps are the ways of stepping by line.
var lineSteps = map[agentpb.StepMode]delve.LineStep{
	agentpb.StepMode_LINE_OVER: delve.LineOver, agentpb.StepMode_LINE_INTO: delve.LineInto, agentpb.StepMode_LINE_OUT: delve.LineOut,
}

// step has a goroutine that is held be held again at a line.
func (p *debugged) step(ctx context.Context, goroutine uint64, mode agentpb.StepMode) error {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	return p.client.Step(ctx, goroutine, lineSteps[mode])
}

// forget takes that back. If the goroutine is held, or podstep ends, it is taken back already.
func (p *debugged) forget(goroutine uint64) {
	ctx, cancel := context.WithTimeout(p.host.Context(), lookWithin)
	defer cancel()
	_ = p.client.Step(ctx, goroutine, delve.LineNone)
}

// heldInside is that Delve holds a goroutine at a line. The agent is asked whether its pod is to
// be held, as one that is inside of the innermost call there.
func (p *debugged) heldInside(h delve.Held) {
	m := &meeting{held: &h.Held, process: p.holder.process(), ended: make(chan struct{})}
	p.holder.add(m)
	call := p.innermost(h.Goroutine)
	p.host.Go(func() {
		p.holder.hold(m, func(ctx context.Context) {
			call.StopInside(ctx, agent.Found{Address: h.Place, Frame: frameProto(h.Line)})
		})
	})
}

// innermost is the innermost call on a goroutine that is shown; nil: there is none.
func (p *debugged) innermost(goroutine uint64) *agent.Call {
	on, _ := p.watched.Of(goroutine)
	for _, c := range slices.Backward(on.Calls) {
		if call, ok := c.State.(*agent.Call); ok && call != nil {
			return call
		}
	}
	return nil
}

// mostGoroutines bounds how many of a pod are listed.
const mostGoroutines = 32

// goroutines are those on which calls about a pod are under way: first the one that is held.
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
