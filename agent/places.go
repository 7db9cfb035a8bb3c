package agent

import (
	"context"
	"strconv"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
)

// newBreakpointAt is newBreakpoint for a place of the kubelet's code that is no step.
func (a *Agent) newBreakpointAt(ctx context.Context, spec *agentpb.AddBreakpointRequest) (*breakpoints.Breakpoint, error) {
	if err := a.limits().check(spec); err != nil {
		return nil, err
	}
	b, err := breakpoints.New(spec)
	if err != nil {
		return nil, err
	}
	switch act := spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Log:
		if n := len(act.Log.GetFields()); n > maxExpressions {
			return nil, invalid(agentpb.Problem_TOO_MANY_EXPRESSIONS, args{"count": strconv.Itoa(n), "most": strconv.Itoa(maxExpressions)})
		}
		b.Log = &breakpoints.Log{Fields: namesOf(act.Log)}
	case *agentpb.AddBreakpointRequest_Hold, nil:
	default:
		return nil, invalid(agentpb.Problem_AT_HOLDS, nil)
	}
	if b.Side() != enter || spec.GetStep() != "" {
		return nil, invalid(agentpb.Problem_AT_HOLDS, nil)
	}
	find := a.finder()
	if find == nil {
		return nil, refused(agentpb.Problem_NO_LINES, nil)
	}
	found, err := find(ctx, spec.GetAt())
	if err != nil {
		return nil, refused(agentpb.Problem_LINES_FAILED, args{"error": err.Error()})
	}
	for _, f := range found {
		b.Places = append(b.Places, breakpoints.Place(f))
	}
	return b, nil
}

// finder returns the function with which a probe finds places in the code, or nil if no probe can.
func (a *Agent) finder() func(context.Context, string) ([]Found, error) {
	for _, p := range a.probes {
		if d := p.debugger.Load(); d != nil && d.Find != nil && p.works() {
			return d.Find
		}
	}
	return nil
}

// stopAtPlace holds a pod for the oldest breakpoint at the place that its goroutine has come to.
func (a *Agent) stopAtPlace(s *span, ps *podSpan, at Found) {
	here := crossing{s, ps, enter, ""}
	suits := func(b *breakpoints.Breakpoint) bool { return b.Log == nil && b.IsAt(at.Address) && a.applies(b, here) }
	b := a.points.First(suits)
	if b == nil {
		return
	}
	if !a.holds.Reserve() {
		a.missBreakpoint(s, ps, suits)
		return
	}
	defer a.holds.Free()
	if acts, there := a.points.Count(b); !acts || !there {
		return
	}
	a.putEnter(s, ps)
	on := termsOf(b, whyOf(b), b.Spec.GetHold().GetLease().AsDuration())
	on.Inside = at.Frame
	a.hold(here, on, a.holds.EndStep(&ps.pod.State.holding))
}
