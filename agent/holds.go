package agent

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/server"
)

// hold is a pod held at a side of a call, or inside of it.
type hold = holding.Hold[crossing]

// gaveUp returns a channel that is closed when the call's caller gives up; nil: that is not seen.
func (s *span) gaveUp() <-chan struct{} {
	if s.caller == nil {
		return nil
	}
	return s.caller.Done()
}

// stop is called at each side of a step that is about one pod, on the kubelet's goroutine. It holds the pod there if
// somebody wants that. It returns the error with which the step is to fail, or nil.
func (a *Agent) stop(s *span, ps *podSpan, side int, errText string) error {
	if a.holds.Armed() == 0 {
		return nil
	}
	may := a.mayHold(s, ps.pod, side) && a.locking.Free()
	at := crossing{s, ps, side, errText}
	if may && a.stopPending(at) {
		return nil
	}
	_, err := a.stopByBreakpoint(at, may)
	return err
}

// stopMany is stop for a call that is about several pods. Pods with a pending hold are held one after the other. A
// breakpoint acts once, on the first pod that it applies to, because one call stands still.
func (a *Agent) stopMany(s *span, parts []*podSpan, side int, errText string) error {
	if a.holds.Armed() == 0 {
		return nil
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(ps *podSpan) bool { return !a.mayHold(s, ps.pod, side) })
	if len(parts) == 0 || !a.locking.Free() {
		return nil
	}
	stopped := false
	for _, ps := range parts {
		stopped = a.stopPending(crossing{s, ps, side, errText}) || stopped
	}
	if stopped {
		return nil
	}
	for _, ps := range parts {
		if acted, err := a.stopByBreakpoint(crossing{s, ps, side, errText}, true); acted {
			return err
		}
	}
	return nil
}

// stopPending holds the pod if a person asked for a hold at such a place.
func (a *Agent) stopPending(at crossing) bool {
	p := &at.part.pod.State.holding
	w := p.Pending()
	if w == nil || !w.Suits(at) || !a.holds.Claim(p, w) {
		return false
	}
	defer a.holds.Free()
	a.putEnter(at.span, at.part)
	a.hold(at, w.Terms, w.Got())
	return true
}

// crossing is one pod at one side of a call. err is the text of the call's error, at its exit.
type crossing struct {
	span *span
	part *podSpan
	side int
	err  string
}

// hold stops the calling goroutine on some terms. It sends the hold to got, unless that is nil. The caller has reserved
// room for the hold.
func (a *Agent) hold(at crossing, on holding.Terms, got chan<- *hold) {
	s, p := at.span, at.part.pod
	h := &hold{
		Terms: on, Pod: &p.State.holding, At: at, Step: s.step.Step, Side: sideNames[at.side], Fields: s.shown(at.side).Protos(),
		Node: a.standsStill(s, at.side) || isStandstill(s.caller), Err: at.err, Since: time.Now(), GaveUp: s.gaveUp(),
	}
	h.Lease, h.Budget = leaseOr(on.Lease, h.Node), a.budgetOf(s, p, h.Since)
	h.Put = func(kind agentpb.Kind, took time.Duration, fields []field) uint64 {
		return a.put(s, at.part, 0, journal.Event{Kind: kind, Duration: int64(took), Fields: fields})
	}
	if at.side == enter && on.Inside == nil {
		h.GoesOn = func() { a.goesOn(s, time.Now()) }
	}
	a.holds.Hold(h, got)
}

var sideNames = [2]string{"enter", "exit"}

// releaseAll lets every pod go.
func (a *Agent) releaseAll(reason string) []*hold {
	return a.releaseHeld(heldQuery{}, reason, server.Peer{})
}
