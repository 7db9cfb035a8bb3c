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
	part   *podSpan // of span, that is about pod
	side   int
	inside *agentpb.StackFrame // the line at which it is held, neither at the begin nor at the end
	node   bool                // the node stands still meanwhile
	why    cause
	since  time.Time
	lease  time.Time
	budget *budget
	err    string

	peer   server.Peer // asked for the hold
	ends   time.Time   // when the agent lets the pod go by itself
	endsBy string      // by what: the lease, or the name of a timer

	once     sync.Once
	released chan struct{}
	reason   string
	by       server.Peer // let the pod go; nobody if the agent did

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

// String is what events say.
func (c cause) String() string {
	return reason.Cause(&agentpb.HoldInfo{Cause: c.Cause, Breakpoint: c.breakpoint}).En
}

// terms are those on which a pod is held.
type terms struct {
	why    cause
	lease  time.Duration   // zero: the default of where the pod is held
	client context.Context // its end is the hold's
	peer   server.Peer     // asked for it
	inside *agentpb.StackFrame
}

// gaveUp is closed when nobody waits for the call any more.
func (s *span) gaveUp() <-chan struct{} {
	if s.caller == nil {
		return nil
	}
	return s.caller.Done()
}

// let lets the pod go on. The reason of the first call counts, one of those of
// agentpb.
func (h *hold) let(reason string) { h.letBy(reason, server.Peer{}) }

// letBy is let for a process that asks for it.
func (h *hold) letBy(reason string, by server.Peer) {
	h.once.Do(func() {
		h.reason, h.by = reason, by
		close(h.released)
	})
}

// holdTable has the holds there are.
type holdTable struct {
	// armed counts pending holds and breakpoints: while it is zero a step costs
	// nothing but this look.
	armed atomic.Int32
	// byLine counts the pending holds among them that are at lines, and at no step.
	byLine atomic.Int32
	// onArmed are called when something is armed, and when nothing is any more. To come
	// back to zero may be noted under a lock of who calls.
	onArmed   []*func() // never changed in place
	onArmedMu sync.Mutex

	// taken counts the holds, and those that are about to be.
	taken atomic.Int32

	mu    sync.Mutex
	last  uint32
	all   map[uint32]*hold
	begun uint64        // holds that have begun, in all; delays are none
	held  time.Duration // of those that have ended
}

func (t *holdTable) init() { t.all = map[uint32]*hold{} }

// arm counts what is armed. Who arms calls announce after it, without a lock.
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

// announce has the probes know whether anything is armed.
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

// begin puts the HOLD event. From then on the hold is listed: whoever lists holds
// has all those, and only those, of which there is an event.
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

// list returns the holds of a pod, or of all pods for nil, that have begun, oldest
// first, and the number of the last event that was put as they were read.
func (t *holdTable) list(a *Agent, p *pod) (begun []*hold, seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	begun = slices.DeleteFunc(t.sorted(p), func(h *hold) bool { return !h.begun })
	return begun, a.journal.last()
}

// remove is for a hold whose call fails.
func (t *holdTable) remove(h *hold) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, h.id)
}

// of returns the holds of a pod, or of all pods for nil, oldest first.
func (t *holdTable) of(p *pod) []*hold {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sorted(p)
}

// sorted is of for a caller that holds mu.
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

// stop is called at each side of a step that is about one pod, on the
// kubelet's goroutine. It holds the pod there if somebody wants it, and returns
// the error with which the step is to fail, if it is to.
func (a *Agent) stop(s *span, ps *podSpan, side int, errText string) error {
	if a.holds.armed.Load() == 0 {
		return nil
	}
	may := a.mayHold(s, ps.pod, side)
	if may && a.stopPending(s, ps, side, errText) {
		return nil
	}
	_, err := a.points.stop(a, s, ps, side, errText, may)
	return err
}

// stopMany is stop for a call that is about several pods. Pods that a person
// follows are held one after the other; a breakpoint acts once, on the first pod
// that it is about: it is one call that stands still.
func (a *Agent) stopMany(s *span, parts []*podSpan, side int, errText string) error {
	if a.holds.armed.Load() == 0 {
		return nil
	}
	parts = slices.DeleteFunc(slices.Clone(parts), func(ps *podSpan) bool { return !a.mayHold(s, ps.pod, side) })
	stopped := false
	for _, ps := range parts {
		stopped = a.stopPending(s, ps, side, errText) || stopped
	}
	if stopped {
		return nil
	}
	for _, ps := range parts {
		if acted, err := a.points.stop(a, s, ps, side, errText, true); acted {
			return err
		}
	}
	return nil
}

// stopPending holds the pod if a person asked for a hold at such a place.
func (a *Agent) stopPending(s *span, ps *podSpan, side int, errText string) bool {
	w := ps.pod.State.pending.Load()
	if w == nil || !w.place(s, side) || !a.take(ps.pod, w) {
		return false
	}
	defer a.holds.free()
	a.putEnter(s, ps)
	a.hold(s, ps, side, errText, w.terms, w.got)
	return true
}

// take takes a pending hold whose pod has come to its place, and room for it, which the caller
// gives back.
func (a *Agent) take(p *pod, w *pendingHold) bool {
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

// hold stops the calling goroutine until the hold is released, its lease is
// over, its client is gone, or a timer is about to trip. got, if not nil, is
// given the hold. The caller has reserved room for it.
func (a *Agent) hold(s *span, ps *podSpan, side int, errText string, on terms, got chan<- *hold) {
	now := time.Now()
	p, node := ps.pod, a.standsStill(s, side) || isStandstill(s.caller)
	h := &hold{
		pod: p, span: s, part: ps, side: side, inside: on.inside, why: on.why, since: now, lease: now.Add(leaseOr(on.lease, node)), err: errText,
		node: node, budget: a.budgetOf(s, p, now), peer: on.peer, released: make(chan struct{}), ended: make(chan struct{}),
	}
	h.ends, h.endsBy = h.end(now)
	defer close(h.ended)
	a.holds.add(h)
	defer a.holds.remove(h)
	// Who says that the pod may not be held any more does so before it looks
	// for holds; so this hold is either seen by it, or sees it.
	if no := mayNotBeHeld(p); no != "" {
		h.let(no)
	}
	at := h.on()
	a.holds.begin(h, func() uint64 { return a.put(s, ps, 0, event{kind: agentpb.Kind_HOLD, fields: h.fields(at)}) })
	if got != nil {
		got <- h
	}
	t := time.NewTimer(h.ends.Sub(now))
	defer t.Stop()
	select {
	case <-s.gaveUp():
		h.let(agentpb.ReleaseCallGivenUp)
	case <-h.released:
	case <-t.C:
		h.let(h.endReason())
	case <-on.client.Done():
		h.let(agentpb.ReleaseClientGone)
	case <-a.closed:
		h.let(agentpb.ReleaseAgentEnds)
	}
	if side == enter && h.inside == nil {
		s.goesOn(time.Now())
	}
	a.holds.end(h, func() uint64 {
		return a.put(s, ps, 0, event{kind: agentpb.Kind_RELEASE, duration: int64(time.Since(now)), fields: h.endFields(at)})
	})
}

// end is when and by what the hold ends, if nobody lets the pod go before.
func (h *hold) end(now time.Time) (at time.Time, by string) {
	if b := h.budget; b != nil {
		if e := b.end.Add(-margin(b.end.Sub(now))); e.Before(h.lease) {
			return e, b.timer.name
		}
	}
	return h.lease, agentpb.EndsByLease
}

// endReason is why the hold ends when nobody lets the pod go before.
func (h *hold) endReason() string {
	if h.endsBy == agentpb.EndsByLease {
		return agentpb.ReleaseLease
	}
	return agentpb.ReleaseTimer
}

// endFields are those of the RELEASE event.
func (h *hold) endFields(on string) []field {
	out := []field{text("on", on), text("reason", h.reason)}
	if h.reason == agentpb.ReleaseTimer {
		out = append(out, text("timer", h.endsBy))
	}
	return append(out, h.by.Fields()...)
}

var sideNames = [2]string{"enter", "exit"}

// on is where in the call the pod is held.
func (h *hold) on() string {
	if h.inside != nil {
		return agentpb.Inside
	}
	return sideNames[h.side]
}

func (h *hold) fields(on string) []field {
	out := []field{text("on", on)}
	if h.inside != nil {
		out = append(out, text("line", h.inside.Written()), text("function", values.Text(h.inside.GetFunction())))
	}
	out = append(out, text("why", h.why.String()), wire.Duration("lease", h.lease.Sub(h.since)))
	if h.node {
		out = append(out, flag("node", true))
	}
	if b := h.budget; b != nil {
		out = append(out, text("timer", b.timer.name), wire.Duration("budget", b.end.Sub(h.since)))
	}
	out = append(out, wire.Duration("ends", h.ends.Sub(h.since)), text("endsBy", h.endsBy))
	return append(out, h.peer.Fields()...)
}

// releasePod lets a pod go for good: it is not held again.
func (a *Agent) releasePod(p *pod, reason string) {
	p.State.noHold.Store(&reason)
	a.dropPending(p, reason)
	for _, h := range a.holds.of(p) {
		h.let(reason)
	}
}

// releaseAll lets every pod go.
func (a *Agent) releaseAll(reason string) []*hold { return a.releaseAllBy(reason, server.Peer{}) }

// releaseAllBy is releaseAll for a process that asks for it.
func (a *Agent) releaseAllBy(reason string, by server.Peer) []*hold {
	for _, p := range a.pods.All() {
		a.dropPending(p, reason)
	}
	all := a.holds.of(nil)
	for _, h := range all {
		h.letBy(reason, by)
	}
	return all
}

// proto is a hold that has begun as a message.
func (h *hold) proto() *agentpb.HoldInfo {
	now := time.Now()
	out := &agentpb.HoldInfo{
		Id: h.id, Pod: h.pod.Proto(), Step: h.span.step.Name, Stage: h.span.step.Stage, On: h.on(), Place: h.inside,
		Since: timestamppb.New(h.since), Lease: durationpb.New(max(0, h.lease.Sub(now))),
		Budget: h.budget.proto(now), Cause: h.why.Cause, Breakpoint: h.why.breakpoint, Error: h.err, Node: h.node,
		Peer: h.peer.Proto(), Ends: durationpb.New(max(0, h.ends.Sub(now))), EndsBy: h.endsBy, Seq: h.seq,
	}
	out.Fields = h.span.shown(h.side).Protos()
	return out
}
