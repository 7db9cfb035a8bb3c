package agent

import (
	"context"
	"path"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/probes"
)

// entry reports whether the pod is at the entry of a call at which stepping stops without being asked to. It does not
// stop at late calls, since most of them come to nothing.
func entry(s *span, side int) bool { return side == enter && !s.late }

// pendingAt returns a hold at the next side of a call that suits.
func pendingAt(suits func(*span, int) bool, on holding.Terms) *holding.Pending[crossing] {
	return &holding.Pending[crossing]{Terms: on, Suits: func(at crossing) bool { return suits(at.span, at.side) }}
}

// nextPlace returns a place that suits the next entry of a step on the pod's worker.
func nextPlace(p *pod) func(*span, int) bool {
	return func(s *span, side int) bool { return entry(s, side) && s.onWorkerOf(p) }
}

// placeFor returns the place that suits the way of stepping that the request names, from where h holds.
func (a *Agent) placeFor(h *hold, req *agentpb.StepRequest) (func(*span, int) bool, error) {
	from := h.At.span
	onward := a.onward(h)
	p := h.At.part.pod
	sync := p.State.sync.Load()
	switch req.GetMode() {
	case agentpb.StepMode_INTO:
		if req.GetUntil() != "" {
			return a.intoCall(h, req.GetUntil())
		}
		return func(s *span, side int) bool { return entry(s, side) && onward(s) }, nil
	case agentpb.StepMode_OVER:
		// What happens in the call is passed over; so is the rest of a call
		// that is held at its exit.
		return func(s *span, side int) bool { return entry(s, side) && onward(s) && !s.within(from) }, nil
	case agentpb.StepMode_OUT:
		return a.outOf(h), nil
	case agentpb.StepMode_NEXT_STAGE:
		return func(s *span, side int) bool {
			return entry(s, side) && onward(s) && s.step.Stage != from.step.Stage
		}, nil
	case agentpb.StepMode_NEXT_CRI:
		return func(s *span, side int) bool {
			return side == enter && onward(s) && s != from && s.step.Stage == stageCRI
		}, nil
	case agentpb.StepMode_NEXT_SYNC:
		return func(s *span, side int) bool {
			return entry(s, side) && s.onWorkerOf(p) && p.State.sync.Load() > sync
		}, nil
	case agentpb.StepMode_UNTIL:
		named, err := a.placesNamed(req.GetUntil())
		return func(s *span, side int) bool { return s != from && named(s, side) }, err
	}
	if byLine(req.GetMode()) {
		return func(*span, int) bool { return false }, nil
	}
	return nil, invalid(agentpb.Problem_BAD_MODE, args{"mode": req.GetMode().String()})
}

// intoCall returns the place that suits to step into calls of the steps that a glob names, inside the call at which h holds. If
// none of them comes, the pod is held where it would be after a step over.
func (a *Agent) intoCall(h *hold, glob string) (func(*span, int) bool, error) {
	from := h.At.span
	onward := a.onward(h)
	named, err := a.placesNamed(glob)
	return func(s *span, side int) bool {
		if s.within(from) {
			return s != from && named(s, side)
		}
		return entry(s, side) && onward(s)
	}, err
}

// placesNamed returns the place that suits where a pod can be held first in calls of the steps that a glob names. Some steps name
// only at their end which pods they are about.
func (a *Agent) placesNamed(glob string) (func(*span, int) bool, error) {
	_, err := a.matchSteps(glob)
	return func(s *span, side int) bool {
		ok, _ := path.Match(glob, s.step.Name)
		return ok && (side == enter || !a.canHold(s.step, enter))
	}, err
}

// byLine reports whether a way of stepping goes by lines of the kubelet's code.
func byLine(mode agentpb.StepMode) bool {
	switch mode {
	case agentpb.StepMode_LINE_OVER, agentpb.StepMode_LINE_INTO, agentpb.StepMode_LINE_OUT:
		return true
	}
	return false
}

// stepByLine makes the debugger hold the goroutine of h at a line, after it is let go. forget takes that back.
func (a *Agent) stepByLine(ctx context.Context, h *hold, mode agentpb.StepMode) (forget func(), err error) {
	d := a.probes[h.At.span.probe].debugger.Load()
	if d == nil || d.Step == nil {
		return nil, refused(agentpb.Problem_NO_LINES, nil)
	}
	goroutine := uint64(h.At.span.goroutine)
	if err := d.Step(ctx, goroutine, mode); err != nil {
		return nil, refused(agentpb.Problem_LINES_FAILED, args{"error": err.Error()})
	}
	return func() { d.Forget(goroutine) }, nil
}

// stopInside logs at a line inside of a call, and holds a pod there, if a person steps it there or a breakpoint wants that.
func (a *Agent) stopInside(s *span, goroutine uintptr, at Found) {
	ps := &s.one
	p := ps.pod
	if a.holds.Armed() == 0 || s.isForbidden() || !s.onWorkerOf(p) {
		return
	}
	a.logInside(s, ps, goroutine, at)
	if w := p.State.holding.Pending(); w != nil && w.Goroutine == goroutine && w.Goroutine != 0 {
		if a.holds.Claim(&p.State.holding, w) {
			defer a.holds.Free()
			a.putEnter(s, ps)
			on := w.Terms
			on.Inside = at.Frame
			a.hold(crossing{s, ps, enter, ""}, on, w.Got())
			return
		}
	}
	a.stopAtPlace(s, ps, at)
}

// pipeline is the order in which news of a pod passes through goroutines. A person who steps on one of them follows the
// pod to the next. The puller works while the worker waits for it.
var pipeline = map[string]int{
	"source:api": 1, "source:file": 1, "source:http": 1, roleMux: 2, roleSyncLoop: 3, roleWorker: 4, rolePuller: 4,
}

// onward returns a function that reports whether a call is ahead of the pod that h holds: on the same goroutine, or on
// one that comes later in the pipeline. A worker counts only if the sync loop has sent it something since. What it does
// about earlier news happens beside the sync loop, not after it.
func (a *Agent) onward(h *hold) func(*span) bool {
	from, part := h.At.span, h.At.part
	stage := pipeline[a.roles.names[from.role]]
	sent := from.sends()
	return func(s *span) bool {
		if s.role == from.role {
			return true
		}
		switch to := pipeline[a.roles.names[s.role]]; {
		case stage == 0 || to < stage:
			return false
		case to == stage || to < pipeline[roleWorker]:
			return true
		}
		return sent || part.pod.State.updates.Load() != part.updates
	}
}

// sends reports whether the call is, or happens in, one that sends the pod's
// worker an update.
func (s *span) sends() bool {
	for ; s != nil; s = s.parent {
		if s.step.means == probes.RoleUpdate {
			return true
		}
	}
	return false
}

// outOf returns the place for stepping out of the call of h. It suits the end of the nearest call around it at whose
// end the pod may be held, and every entry outside of that call. If there is no such call, it suits the entries outside
// of the call of h.
func (a *Agent) outOf(h *hold) func(*span, int) bool {
	from, p, onward := h.At.span, h.At.part.pod, a.onward(h)
	up := from.parent
	for up != nil && (up.part(p) == nil || !a.mayHold(up, p, exit)) {
		up = up.parent
	}
	return func(s *span, side int) bool {
		if up == nil {
			return entry(s, side) && onward(s) && !s.within(from)
		}
		return (side == exit && s == up) || (entry(s, side) && onward(s) && !s.within(up))
	}
}
