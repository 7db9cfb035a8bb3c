package holding

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// Pending is a hold that a person asked for, at the next place that suits.
type Pending[At any] struct {
	Terms
	// Suits reports whether a place suits. It runs on the kubelet's goroutines.
	Suits func(At) bool
	// Goroutine is the goroutine that is to be held at a line; 0: at a step.
	Goroutine uintptr

	request context.Context // of the person's request

	got   chan *Hold[At] // has room for one
	gone  chan struct{}  // closed when the request was taken back
	cause error          // the error of the request; set before gone is closed
}

// Pending returns what a person asked for; nil: nothing.
func (p *Pod[At]) Pending() *Pending[At] { return p.pending.Load() }

// Ask makes w the pod's pending hold, for the request that has ctx. There is one at a time.
func (t *Table[At]) Ask(ctx context.Context, p *Pod[At], w *Pending[At]) error {
	w.request, w.got, w.gone = ctx, make(chan *Hold[At], 1), make(chan struct{})
	for !p.pending.CompareAndSwap(nil, w) {
		if o := p.Pending(); o != nil && !t.endIfGivenUp(p, o) {
			return refused(&agentpb.Problem{Code: agentpb.Problem_HOLD_PENDING, Args: map[string]string{"pod": p.FullName()}})
		}
	}
	t.pend(w, 1)
	t.Announce()
	return nil
}

// pend is Arm for pending holds.
func (t *Table[At]) pend(w *Pending[At], n int32) {
	t.pending.Add(n)
	if w.Goroutine != 0 {
		t.byLine.Add(n)
	}
	t.Arm(n)
}

// TakeBack takes the pending hold back. It returns false if the pod came to the place first.
func (t *Table[At]) TakeBack(p *Pod[At], w *Pending[At]) bool {
	if !p.pending.CompareAndSwap(w, nil) {
		return false
	}
	t.pend(w, -1)
	return true
}

// endIfGivenUp takes the pending hold back whose request the client has cancelled: the goroutine of that request may come to
// it later than the client's next request, and later than the pod comes to the place. It returns false if the request goes
// on.
func (t *Table[At]) endIfGivenUp(p *Pod[At], w *Pending[At]) bool {
	err := w.request.Err()
	if err == nil {
		return false
	}
	if t.TakeBack(p, w) {
		w.cause = status.FromContextError(err).Err()
		close(w.gone)
	}
	return true
}

// Drop takes back the pending hold of a pod, for one of the reasons for which a hold ends. It returns false if there is
// none.
func (t *Table[At]) Drop(p *Pod[At], why string) bool {
	w := p.Pending()
	if w == nil || !t.TakeBack(p, w) {
		return false
	}
	w.cause = refused(&agentpb.Problem{Code: agentpb.Problem_WAIT_ENDED, Args: map[string]string{"pod": p.FullName(), "reason": why}})
	close(w.gone)
	return true
}

// Claim takes the pending hold of a pod that has come to the hold's place, and reserves room, which the caller frees. It
// returns false if the hold is no longer pending or its request is given up, or if there is no room.
func (t *Table[At]) Claim(p *Pod[At], w *Pending[At]) bool {
	if t.endIfGivenUp(p, w) || !t.TakeBack(p, w) {
		return false
	}
	if !t.Reserve() {
		w.cause = t.TooMany()
		close(w.gone)
		return false
	}
	return true
}

// Got returns where the client waits for the hold.
func (w *Pending[At]) Got() chan<- *Hold[At] { return w.got }

// EndStep ends the step of a pod that a breakpoint is about to hold, as in any debugger. It returns where the client waits
// for the hold; nil: no step is under way.
func (t *Table[At]) EndStep(p *Pod[At]) chan<- *Hold[At] {
	w := p.Pending()
	if w == nil || w.Why.Cause != agentpb.Cause_CAUSE_STEP || !t.TakeBack(p, w) {
		return nil
	}
	return w.got
}

// Await waits until the pod is held by w or, if that is a step, by a breakpoint. If the pod does not come to the place in
// time, nothing stays armed.
func (t *Table[At]) Await(ctx context.Context, p *Pod[At], w *Pending[At], wait time.Duration) (*Hold[At], error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	var err error
	select {
	case h := <-w.got:
		return h, nil
	case <-w.gone:
		return nil, w.cause
	case <-timer.C:
		err = reason.Failed(codes.DeadlineExceeded, &agentpb.Problem{
			Code: agentpb.Problem_WAIT_TIMEOUT, Args: map[string]string{"pod": p.FullName(), "wait": wait.String()},
		})
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	}
	if t.TakeBack(p, w) {
		return nil, err
	}
	// The pod came there, or the request was taken back, at the same moment.
	select {
	case h := <-w.got:
		if ctx.Err() != nil && h.Why == w.Why {
			h.Release(agentpb.ReleaseClientGone)
			return nil, err
		}
		return h, nil
	case <-w.gone:
		return nil, w.cause
	}
}
