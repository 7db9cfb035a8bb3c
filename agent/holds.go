package agent

import (
	"context"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
)

// hold is a pod's goroutine stopped at a step.
type hold struct {
	id     uint32
	pod    *pod
	span   *span
	part   *podSpan // the part of span in pod's story
	side   int
	inside *agentpb.StackFrame // the line at which it is held; nil: at the call's begin or end
	node   bool                // the node stands still meanwhile
	why    cause
	since  time.Time
	lease  time.Time
	budget *budget
	err    string

	asked  server.Asker
	ends   time.Time // when the agent lets the pod go by itself
	endsBy string    // what then ends it: the lease, or the name of a timer

	once     sync.Once
	released chan struct{}
	reason   string
	by       server.Peer // the process that let the pod go; none if the agent did

	begun    bool   // the HOLD event was put; guarded by holdTable.mu, until got is given the hold
	seq      uint64 // of the HOLD event; 0: it was dropped
	ended    chan struct{}
	endedSeq uint64 // of the RELEASE event; set before ended is closed
}

// cause is what a pod is held for.
type cause struct {
	agentpb.Cause
	breakpoint uint32
}

// String returns the cause as events state it.
func (c cause) String() string {
	return reason.Cause(&agentpb.HoldInfo{Cause: c.Cause, Breakpoint: c.breakpoint}).En
}

// terms are the terms on which a pod is held.
type terms struct {
	why    cause
	lease  time.Duration   // zero: the default, by where the pod is held
	client context.Context // the hold ends when it is done
	asked  server.Asker
	inside *agentpb.StackFrame
}

// gaveUp returns a channel that is closed when the call's caller gives up; nil: that is not seen.
func (s *span) gaveUp() <-chan struct{} {
	if s.caller == nil {
		return nil
	}
	return s.caller.Done()
}

// release lets the pod go on, for one of the release reasons of agentpb. The reason of the first call counts.
func (h *hold) release(reason string) { h.releaseBy(reason, server.Peer{}) }

// releaseBy is release for a process that asks for it.
func (h *hold) releaseBy(reason string, by server.Peer) {
	h.once.Do(func() {
		h.reason, h.by = reason, by
		close(h.released)
	})
}

// holdTable is the table of the holds.
type holdTable struct {
	// armed counts pending holds and breakpoints. While it is zero, a step costs only the reading of it.
	armed atomic.Int32
	// byLine counts those of the pending holds that are at lines and at no step.
	byLine atomic.Int32
	// onArmed are called when something is armed, and when the count returns to zero. In the second case they may be
	// called with the caller's lock held.
	onArmed   []*func() // never changed in place
	onArmedMu sync.Mutex

	// taken counts the holds, and the room that is reserved for holds.
	taken atomic.Int32

	mu    sync.Mutex
	last  uint32
	all   map[uint32]*hold
	begun uint64        // holds that have begun, in all, without delays
	held  time.Duration // how long the holds that have ended lasted, in all
}

func (t *holdTable) init() { t.all = map[uint32]*hold{} }

// arm adds n to the armed count. If n is positive, the caller must then call announce, without holding a lock.
func (t *holdTable) arm(n int32) {
	if t.armed.Add(n) == 0 {
		t.announce()
	}
}

// pend is arm for pending holds.
func (t *holdTable) pend(w *pendingHold, n int32) {
	if w.inside != 0 {
		t.byLine.Add(n)
	}
	t.arm(n)
}

// announce calls onArmed, so that the probes look whether anything is armed.
func (t *holdTable) announce() {
	t.onArmedMu.Lock()
	all := t.onArmed
	t.onArmedMu.Unlock()
	for _, f := range all {
		(*f)()
	}
}

// hasRoom reports whether one more pod may be held.
func (t *holdTable) hasRoom(l *limits) bool { return t.taken.Load() < l.holds }

// reserve takes room for one hold. The caller gives it back with free.
func (t *holdTable) reserve(l *limits) bool {
	if t.taken.Add(1) > l.holds {
		t.free()
		return false
	}
	return true
}

func (t *holdTable) free() { t.taken.Add(-1) }

func (t *holdTable) add(h *hold) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	h.id = t.last
	t.all[h.id] = h
}

// begin puts the HOLD event. From then on the hold is listed: list returns exactly the holds that have an event.
func (t *holdTable) begin(h *hold, put func() uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.begun, h.seq = true, put()
	if !h.delays() {
		t.begun++
	}
}

// end takes the hold out of the list and puts the RELEASE event.
func (t *holdTable) end(h *hold, put func() uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.all[h.id]; ok && !h.delays() {
		t.held += time.Since(h.since)
	}
	delete(t.all, h.id)
	h.endedSeq = put()
}

// list returns the holds that have begun, oldest first, of a pod or, for nil, of all pods. seq is the number of the
// last event that was put as they were read.
func (t *holdTable) list(a *Agent, p *pod) (begun []*hold, seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	begun = slices.DeleteFunc(t.sorted(p), func(h *hold) bool { return !h.begun })
	return begun, a.journal.Last()
}

// remove takes the hold out of the list if end did not, because the call panicked.
func (t *holdTable) remove(h *hold) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, h.id)
}

// forPod returns the holds of a pod, or of all pods for nil, oldest first.
func (t *holdTable) forPod(p *pod) []*hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sorted(p)
}

// sorted is forPod for a caller that holds mu.
func (t *holdTable) sorted(p *pod) []*hold {
	var out []*hold
	for _, h := range t.all {
		if p == nil || h.pod == p {
			out = append(out, h)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// stop is called at each side of a step that is about one pod, on the kubelet's goroutine. It holds the pod there if
// somebody wants that. It returns the error with which the step is to fail, or nil.
func (a *Agent) stop(s *span, ps *podSpan, side int, errText string) error {
	if a.holds.armed.Load() == 0 {
		return nil
	}
	may := a.mayHold(s, ps.pod, side) && a.locking.free()
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
	if a.holds.armed.Load() == 0 {
		return nil
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(ps *podSpan) bool { return !a.mayHold(s, ps.pod, side) })
	if len(parts) == 0 || !a.locking.free() {
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
	p := at.part.pod
	w := p.State.pending.Load()
	if w == nil || !w.place(at.span, at.side) || !a.claimPending(p, w) {
		return false
	}
	defer a.holds.free()
	a.putEnter(at.span, at.part)
	a.hold(at, w.terms, w.got)
	return true
}

// claimPending takes the pending hold of a pod that has come to the hold's place, and reserves room, which the caller
// frees. It returns false if the hold is no longer pending, or if there is no room.
func (a *Agent) claimPending(p *pod, w *pendingHold) bool {
	if !p.State.pending.CompareAndSwap(w, nil) {
		return false
	}
	a.holds.pend(w, -1)
	if !a.holds.reserve(a.limits()) {
		w.cause = a.tooMany()
		close(w.gone)
		return false
	}
	return true
}

// crossing is one pod at one side of a call. err is the text of the call's error, at its exit.
type crossing struct {
	span *span
	part *podSpan
	side int
	err  string
}

// hold stops the calling goroutine until the hold is released, its lease is over, its client is gone, or a timer is
// about to trip. It sends the hold to got, unless that is nil. The caller has reserved room for the hold.
func (a *Agent) hold(at crossing, on terms, got chan<- *hold) {
	now := time.Now()
	s, ps, p := at.span, at.part, at.part.pod
	node := a.standsStill(s, at.side) || isStandstill(s.caller)
	h := &hold{
		pod: p, span: s, part: ps, side: at.side, inside: on.inside, why: on.why, since: now, lease: now.Add(leaseOr(on.lease, node)), err: at.err,
		node: node, budget: a.budgetOf(s, p, now), asked: on.asked, released: make(chan struct{}), ended: make(chan struct{}),
	}
	h.ends, h.endsBy = h.end(now)
	defer close(h.ended)
	a.holds.add(h)
	defer a.holds.remove(h)
	// releasePod sets its flag before it looks for holds. So either it finds this hold, or the check below sees the
	// flag.
	if no := mayNotBeHeld(p); no != "" {
		h.release(no)
	}
	step := h.on()
	a.holds.begin(h, func() uint64 { return a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_HOLD, Fields: h.fields(step)}) })
	if got != nil {
		got <- h
	}
	t := time.NewTimer(h.ends.Sub(now))
	defer t.Stop()
	select {
	case <-s.gaveUp():
		h.release(agentpb.ReleaseCallGivenUp)
	case <-h.released:
	case <-t.C:
		h.release(h.endReason())
	case <-on.client.Done():
		h.release(agentpb.ReleaseClientGone)
	case <-a.closed:
		h.release(agentpb.ReleaseAgentEnds)
	}
	if at.side == enter && h.inside == nil {
		a.goesOn(s, time.Now())
	}
	a.holds.end(h, func() uint64 {
		return a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_RELEASE, Duration: int64(time.Since(now)), Fields: h.endFields(step)})
	})
}

// end returns when the hold ends by itself, and what then ends it: the lease or a timer.
func (h *hold) end(now time.Time) (at time.Time, by string) {
	if b := h.budget; b != nil {
		if e := b.end.Add(-margin(b.end.Sub(now))); e.Before(h.lease) {
			return e, b.timer.name
		}
	}
	return h.lease, agentpb.EndsByLease
}

// endReason returns the reason for which the hold ends by itself.
func (h *hold) endReason() string {
	if h.endsBy == agentpb.EndsByLease {
		return agentpb.ReleaseLease
	}
	return agentpb.ReleaseTimer
}

// endFields returns the fields of the RELEASE event.
func (h *hold) endFields(on string) []field {
	out := []field{text("on", on), text("reason", h.reason)}
	if h.reason == agentpb.ReleaseTimer {
		out = append(out, text("timer", h.endsBy))
	}
	return append(out, h.by.Fields()...)
}

var sideNames = [2]string{"enter", "exit"}

// on returns where in the call the pod is held: at enter, at exit, or inside.
func (h *hold) on() string {
	if h.inside != nil {
		return agentpb.Inside
	}
	return sideNames[h.side]
}

func (h *hold) fields(on string) []field {
	out := []field{text("on", on)}
	if h.inside != nil {
		out = append(out, text("line", values.Text(h.inside.Written())), text("function", values.Text(h.inside.GetFunction())))
	}
	out = append(out, text("why", h.why.String()), wire.Duration("lease", h.lease.Sub(h.since)))
	if h.node {
		out = append(out, flag("node", true))
	}
	if b := h.budget; b != nil {
		out = append(out, text("timer", b.timer.name), wire.Duration("budget", b.end.Sub(h.since)))
	}
	out = append(out, wire.Duration("ends", h.ends.Sub(h.since)), text("endsBy", h.endsBy))
	return append(out, h.asked.Fields()...)
}

// releasePod lets a pod go for good: it is not held again.
func (a *Agent) releasePod(p *pod, reason string) {
	p.State.noHold.Store(&reason)
	a.dropPending(p, reason)
	for _, h := range a.holds.forPod(p) {
		h.release(reason)
	}
}

// releaseAll lets every pod go.
func (a *Agent) releaseAll(reason string) []*hold {
	return a.releaseHeld(heldQuery{}, reason, server.Peer{})
}

// proto returns a hold that has begun, as a message.
func (h *hold) proto() *agentpb.HoldInfo {
	now := time.Now()
	out := &agentpb.HoldInfo{
		Id: h.id, Pod: h.pod.Proto(), Step: h.span.step.Name, Stage: h.span.step.Stage, On: h.on(), Place: h.inside,
		Since: timestamppb.New(h.since), Lease: durationpb.New(max(0, h.lease.Sub(now))),
		Budget: h.budget.proto(now), Cause: h.why.Cause, Breakpoint: h.why.breakpoint, Error: h.err, Node: h.node,
		Peer: h.asked.Proto(), Message: h.asked.Message, Ends: durationpb.New(max(0, h.ends.Sub(now))), EndsBy: h.endsBy, Seq: h.seq,
	}
	out.Fields = h.span.shown(h.side).Protos()
	return out
}
