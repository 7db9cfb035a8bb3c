package agent

import (
	"context"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
)

// newBreakpointAt is newBreakpoint for a place of the kubelet's code that is no step.
func (a *Agent) newBreakpointAt(ctx context.Context, spec *agentpb.AddBreakpointRequest) (*breakpoint, error) {
	if err := a.limits().check(spec); err != nil {
		return nil, err
	}
	sel, err := pods.NewSelector(spec.GetPods())
	if err != nil {
		return nil, err
	}
	b := &breakpoint{spec: proto.CloneOf(spec), pods: sel}
	switch act := spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Log:
		if n := len(act.Log.GetFields()); n > maxExpressions {
			return nil, invalid(agentpb.Problem_TOO_MANY_EXPRESSIONS, args{"count": strconv.Itoa(n), "most": strconv.Itoa(maxExpressions)})
		}
		b.log = &logAction{fields: namesOf(act.Log)}
	case *agentpb.AddBreakpointRequest_Hold, nil:
	default:
		return nil, invalid(agentpb.Problem_AT_HOLDS, nil)
	}
	if b.side() != enter || spec.GetStep() != "" {
		return nil, invalid(agentpb.Problem_AT_HOLDS, nil)
	}
	find := a.finder()
	if find == nil {
		return nil, refused(agentpb.Problem_NO_LINES, nil)
	}
	if b.found, err = find(ctx, spec.GetAt()); err != nil {
		return nil, refused(agentpb.Problem_LINES_FAILED, args{"error": err.Error()})
	}
	b.setLimits()
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

// stopInside holds a pod for the oldest breakpoint at the place that its goroutine has come to.
func (t *breakpoints) stopInside(a *Agent, s *span, ps *podSpan, at Found) {
	here := crossing{s, ps, enter, ""}
	suits := func(b *breakpoint) bool { return b.log == nil && b.isAt(at.Address) && b.applies(a, here) }
	b := t.first(suits)
	if b == nil {
		return
	}
	if !a.holds.reserve(a.limits()) {
		t.miss(a, s, ps, suits)
		return
	}
	defer a.holds.free()
	if acts, there := t.count(b); !acts || !there {
		return
	}
	a.putEnter(s, ps)
	a.hold(here, terms{b.why(), b.spec.GetHold().GetLease().AsDuration(), b.client, b.by, at.Frame}, a.endStep(ps.pod))
}

// isAt reports whether an address is one of the breakpoint's places.
func (b *breakpoint) isAt(address uint64) bool {
	return slices.ContainsFunc(b.found, func(f Found) bool { return f.Address == address })
}
