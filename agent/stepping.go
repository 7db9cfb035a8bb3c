package agent

import (
	"context"
	"path"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// pendingHold is a hold that a person asked for, at the next place that suits.
type pendingHold struct {
	// place reports whether a side of a call suits. It runs on the kubelet's
	// goroutines.
	place func(s *span, side int) bool
	// inside is the goroutine that is to be held at a line; 0: at a step.
	inside uintptr
	terms
	got   chan *hold    // has room for one
	gone  chan struct{} // closed when the request was taken back
	cause error         // the error of the request; set before gone is closed
}

// arm makes w the pod's pending hold. There is one at a time.
func (a *Agent) arm(p *pod, w *pendingHold) error {
	w.got, w.gone = make(chan *hold, 1), make(chan struct{})
	if !p.State.pending.CompareAndSwap(nil, w) {
		return refused(agentpb.Problem_HOLD_PENDING, args{"pod": p.FullName()})
	}
	a.holds.pend(w, 1)
	a.holds.announce()
	return nil
}

// disarm takes the pending hold back. It returns false if the pod came to the place first.
func (a *Agent) disarm(p *pod, w *pendingHold) bool {
	if !p.State.pending.CompareAndSwap(w, nil) {
		return false
	}
	a.holds.pend(w, -1)
	return true
}

// dropPending takes back the pending hold of a pod, for one of the reasons for which a hold ends. It returns false if
// there is none.
func (a *Agent) dropPending(p *pod, reason string) bool {
	w := p.State.pending.Load()
	if w == nil || !a.disarm(p, w) {
		return false
	}
	w.cause = refused(agentpb.Problem_WAIT_ENDED, args{"pod": p.FullName(), "reason": reason})
	close(w.gone)
	return true
}

// endStep ends the step of a pod that a breakpoint is about to hold, as in any debugger. It returns where the client waits
// for the hold; nil: no step is under way.
func (a *Agent) endStep(p *pod) chan<- *hold {
	w := p.State.pending.Load()
	if w == nil || w.why.Cause != agentpb.Cause_CAUSE_STEP || !a.disarm(p, w) {
		return nil
	}
	return w.got
}

// await waits until the pod is held by w or, if that is a step, by a breakpoint. If the pod does not come to the place in time, nothing stays armed.
func (a *Agent) await(ctx context.Context, p *pod, w *pendingHold, wait time.Duration) (*hold, error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	var err error
	select {
	case h := <-w.got:
		return h, nil
	case <-w.gone:
		return nil, w.cause
	case <-t.C:
		err = reason.Failed(codes.DeadlineExceeded, problem(agentpb.Problem_WAIT_TIMEOUT, args{"pod": p.FullName(), "wait": wait.String()}))
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	}
	if a.disarm(p, w) {
		return nil, err
	}
	// The pod came there, or the request was taken back, at the same moment.
	select {
	case h := <-w.got:
		if ctx.Err() != nil && h.why == w.why {
			h.release(agentpb.ReleaseClientGone)
			return nil, err
		}
		return h, nil
	case <-w.gone:
		return nil, w.cause
	}
}

// entry reports whether the pod is at the entry of a call at which stepping stops without being asked to. It does not
// stop at late calls, since most of them come to nothing.
func entry(s *span, side int) bool { return side == enter && !s.late }

// nextPlace returns a place that suits the next entry of a step on the pod's worker.
func nextPlace(p *pod) func(*span, int) bool {
	return func(s *span, side int) bool { return entry(s, side) && s.onWorkerOf(p) }
}

// placeFor returns the place that suits the way of stepping that the request names, from where h holds.
func (a *Agent) placeFor(h *hold, req *agentpb.StepRequest) (func(*span, int) bool, error) {
	from := h.span
	onward := a.onward(h)
	sync := h.pod.State.sync.Load()
	switch req.GetMode() {
	case agentpb.StepMode_INTO:
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
			return entry(s, side) && s.onWorkerOf(h.pod) && h.pod.State.sync.Load() > sync
		}, nil
	case agentpb.StepMode_UNTIL:
		if _, err := a.matchSteps(req.GetUntil()); err != nil {
			return nil, err
		}
		return func(s *span, side int) bool {
			ok, _ := path.Match(req.GetUntil(), s.step.Name)
			// Some steps name only at their end which pods they are about.
			return ok && s != from && (side == enter || !a.canHold(s.step, enter))
		}, nil
	}
	if byLine(req.GetMode()) {
		return func(*span, int) bool { return false }, nil
	}
	return nil, invalid(agentpb.Problem_BAD_MODE, args{"mode": req.GetMode().String()})
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
	d := a.probes[h.span.probe].debugger.Load()
	if d == nil || d.Step == nil {
		return nil, refused(agentpb.Problem_NO_LINES, nil)
	}
	goroutine := uint64(h.span.goroutine)
	if err := d.Step(ctx, goroutine, mode); err != nil {
		return nil, refused(agentpb.Problem_LINES_FAILED, args{"error": err.Error()})
	}
	return func() { d.Forget(goroutine) }, nil
}

// stopInside logs at a line inside of a call, and holds a pod there, if a person steps it there or a breakpoint wants that.
func (a *Agent) stopInside(s *span, goroutine uintptr, at Found) {
	ps := &s.one
	p := ps.pod
	if a.holds.armed.Load() == 0 || s.isForbidden() || !s.onWorkerOf(p) {
		return
	}
	a.logInside(s, ps, goroutine, at)
	if w := p.State.pending.Load(); w != nil && w.inside == goroutine && w.inside != 0 {
		if a.claimPending(p, w) {
			defer a.holds.free()
			a.putEnter(s, ps)
			on := w.terms
			on.inside = at.Frame
			a.hold(crossing{s, ps, enter, ""}, on, w.got)
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
	from := h.span
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
		return sent || h.pod.State.updates.Load() != h.part.updates
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
	from, onward := h.span, a.onward(h)
	up := from.parent
	for up != nil && (up.part(h.pod) == nil || !a.mayHold(up, h.pod, exit)) {
		up = up.parent
	}
	return func(s *span, side int) bool {
		if up == nil {
			return entry(s, side) && onward(s) && !s.within(from)
		}
		return (side == exit && s == up) || (entry(s, side) && onward(s) && !s.within(up))
	}
}
