package agent

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// retry is a person's request that the kubelet tries again now. It lasts until the pod's worker has ended a turn that began
// after the request, or in which a back-off was ended.
type retry struct {
	asked server.Asker
	began atomic.Bool                 // a turn has begun since
	acted atomic.Bool                 // a back-off was ended
	ended chan *agentpb.RetryResponse // has room for the first back-off that is ended
	over  chan *agentpb.RetryResponse // has room for the turn's end
	gone  chan string                 // has room for why there will be no turn
}

// syncNow has the worker of a pod sync the pod at once, or returns why not. The kubelet gives it.
type syncNow = func(uid string) (refused string)

// mayRetry reports whether the agent is in a woven kubelet that can be told to try again.
func (a *Agent) mayRetry() bool {
	if !a.opts.InKubelet {
		return false
	}
	for i := range a.steps {
		if s := &a.steps[i]; s.SyncNow != "" && s.reach(0).sees() {
			return true
		}
	}
	return false
}

func (s *service) Retry(ctx context.Context, req *agentpb.RetryRequest) (*agentpb.RetryResponse, error) {
	a := s.agent
	if err := a.mayAct(); err != nil {
		return nil, err
	}
	p, err := a.onePod(req.GetPods())
	if err != nil {
		return nil, err
	}
	do := a.syncNow.Load()
	if do == nil {
		return nil, refused(agentpb.Problem_NO_RETRY, nil)
	}
	if held := a.holds.Of(&p.State.holding); len(held) > 0 {
		h := held[0]
		return nil, refused(agentpb.Problem_RETRY_HELD, args{"pod": p.FullName(), "on": h.On(), "step": h.Step.Name})
	}
	_, wait, err := a.limits().leaseAndWait(nil, req.GetWait())
	if err != nil {
		return nil, err
	}
	by, err := server.AskerFrom(ctx, req.GetMessage())
	if err != nil {
		return nil, err
	}
	r := &retry{asked: by, ended: make(chan *agentpb.RetryResponse, 1), over: make(chan *agentpb.RetryResponse, 1), gone: make(chan string, 1)}
	if !p.State.retry.CompareAndSwap(nil, r) {
		return nil, refused(agentpb.Problem_RETRY_PENDING, args{"pod": p.FullName()})
	}
	if why := (*do)(p.UID); why != "" {
		p.State.retry.CompareAndSwap(r, nil)
		return nil, notRetried(p, why)
	}
	return a.awaitRetry(ctx, p, r, wait)
}

func notRetried(p *pod, why string) error {
	return refused(agentpb.Problem_NOT_RETRIED, args{"pod": p.FullName(), "reason": why})
}

// awaitRetry waits until a back-off of the pod is ended, or the turn is over. If nobody waits any more, a turn that has not
// begun yet ends no back-off.
func (a *Agent) awaitRetry(ctx context.Context, p *pod, r *retry, wait time.Duration) (*agentpb.RetryResponse, error) {
	t := time.NewTimer(wait)
	defer t.Stop()
	var err error
	select {
	case out := <-r.ended:
		return out, nil
	case out := <-r.over:
		select {
		case first := <-r.ended: // it was ended in the same moment
			return first, nil
		default:
			return out, nil
		}
	case why := <-r.gone:
		return nil, notRetried(p, why)
	case <-t.C:
		err = reason.Failed(codes.DeadlineExceeded, problem(agentpb.Problem_RETRY_WAITS, args{
			"pod": p.FullName(), "wait": wait.String(), "sync": itoa(p.State.sync.Load()),
		}))
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	}
	if !r.began.Load() {
		p.State.retry.CompareAndSwap(r, nil)
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, err
	}
	return r.answer(p), nil
}

// answer returns what is known of the retry in the turn that goes on.
func (r *retry) answer(p *pod) *agentpb.RetryResponse {
	return &agentpb.RetryResponse{Pod: p.Proto(), Sync: p.State.sync.Load()}
}

// beginRetry notes that a turn begins which was asked for.
func (a *Agent) beginRetry(s *span, p *pod) {
	r := p.State.retry.Load()
	if r == nil || !r.began.CompareAndSwap(false, true) {
		return
	}
	a.put(s, &s.one, 0, journal.Event{Kind: agentpb.Kind_NOTE, Fields: append([]field{text("note", agentpb.NoteRetry)}, r.asked.Fields()...)})
}

// BackOff ends the back-off that the function is about to find, if a person wants the pod to try again now.
func (t *taker) BackOff(end hook.BackOff) {
	if t.pod == nil {
		return
	}
	r := t.pod.State.retry.Load()
	if r == nil {
		return
	}
	if ended, length := end(); ended {
		t.ended, t.length = r, time.Duration(length)
	}
}

// noteBackOff notes that a back-off was ended as the call began.
func (a *Agent) noteBackOff(s *span, p *pod, t *taker) {
	r := t.ended
	if r == nil {
		return
	}
	r.acted.Store(true)
	fields := append([]field{text("note", agentpb.NoteBackOffEnded)}, r.asked.Fields()...)
	if t.length > 0 {
		fields = append(fields, wire.Duration("length", t.length))
	}
	a.putEnter(s, &s.one)
	out := r.answer(p)
	out.Seq = a.put(s, &s.one, 0, journal.Event{Kind: agentpb.Kind_NOTE, Fields: fields})
	out.Ended = &agentpb.EndedBackOff{Step: s.step.Name}
	if t.length > 0 {
		out.Ended.Length = durationpb.New(t.length)
	}
	if shown := t.wire.Protos(); len(shown) > 0 {
		out.Ended.Of = shown[0]
	}
	offer(r.ended, out)
}

// endRetry ends the pod's retry if its turn is over. The queue has one time for each pod, and a turn that was under way when
// somebody asked has just set it, so that the kubelet is asked again.
func (a *Agent) endRetry(s *span, p *pod) {
	r := p.State.retry.Load()
	if r == nil {
		return
	}
	switch {
	case s.step.means == probes.RoleWorker:
		r.leave(p, agentpb.RetryTerminated)
	case r.began.Load() || r.acted.Load():
		out := r.answer(p)
		out.Over = true
		p.State.retry.CompareAndSwap(r, nil)
		offer(r.over, out)
	default:
		if why := (*a.syncNow.Load())(p.UID); why != "" {
			r.leave(p, why)
		}
	}
}

// leave ends a retry for which there will be no turn.
func (r *retry) leave(p *pod, why string) {
	if p.State.retry.CompareAndSwap(r, nil) {
		offer(r.gone, why)
	}
}

// offer gives v to the goroutine that waits. The kubelet's goroutine waits for nobody: only the first v counts.
func offer[T any](to chan<- T, v T) {
	select {
	case to <- v:
	default:
	}
}
