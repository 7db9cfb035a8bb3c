// Package holding stops goroutines of the kubelet, and lets them go. Its table has the holds that are and those that a
// person asked for, and counts what is armed, so that the kubelet pays nothing while nothing is. Where a pod is held, and
// whether it may be, is the owner's part: At is what the owner knows of a place.
//
// The order of locks: an event of a hold is put under Table.mu. Nothing is locked under onArmedMu, and neither of the two
// is locked under the other.
package holding

import (
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// Table is the table of the holds.
type Table[At any] struct {
	most   int32           // holds at one time
	closed <-chan struct{} // closed when the agent ends
	last   func() uint64

	// armed counts pending holds and breakpoints. While it is zero, a step costs only the reading of it.
	armed atomic.Int32
	// byLine counts those of the pending holds that are at lines and at no step.
	byLine atomic.Int32
	// pending counts the pending holds.
	pending atomic.Int32
	// onArmed are called when something is armed, and when the count returns to zero. In the second case they may be
	// called with the caller's lock held.
	onArmed   []*func() // never changed in place
	onArmedMu sync.Mutex

	// taken counts the holds, and the room that is reserved for holds.
	taken atomic.Int32

	mu     sync.Mutex
	lastID uint32
	all    map[uint32]*Hold[At]
	begun  uint64        // holds that have begun, in all, without delays
	held   time.Duration // how long the holds that have ended lasted, in all
}

// NewTable makes a table for at most so many holds at one time. They end when closed is closed. last returns the number of
// the last event that there was.
func NewTable[At any](most int32, closed <-chan struct{}, last func() uint64) *Table[At] {
	return &Table[At]{most: most, closed: closed, last: last, all: map[uint32]*Hold[At]{}}
}

// Armed returns how much is armed: pending holds and breakpoints that stop calls.
func (t *Table[At]) Armed() int32 { return t.armed.Load() }

// ArmedAtSteps is Armed without the pending holds that are at lines and at no step.
func (t *Table[At]) ArmedAtSteps() int32 { return t.armed.Load() - t.byLine.Load() }

// Arm adds n to the armed count. If n is positive, the caller must then call Announce, without holding a lock.
func (t *Table[At]) Arm(n int32) {
	if t.armed.Add(n) == 0 {
		t.Announce()
	}
}

// Announce calls the functions that OnArmed was given.
func (t *Table[At]) Announce() {
	t.onArmedMu.Lock()
	all := t.onArmed
	t.onArmedMu.Unlock()
	for _, f := range all {
		(*f)()
	}
}

// OnArmed makes the table call f when something is armed, and when nothing is armed any more. forget ends that. The
// goroutine that arms waits until f returns. When nothing is armed any more, f must not wait for anybody.
func (t *Table[At]) OnArmed(f func()) (forget func()) {
	id := &f
	t.onArmedMu.Lock()
	defer t.onArmedMu.Unlock()
	t.onArmed = append(slices.Clip(t.onArmed), id)
	return func() {
		t.onArmedMu.Lock()
		defer t.onArmedMu.Unlock()
		t.onArmed = slices.DeleteFunc(slices.Clone(t.onArmed), func(o *func()) bool { return o == id })
	}
}

// HasRoom reports whether one more pod may be held.
func (t *Table[At]) HasRoom() bool { return t.taken.Load() < t.most }

// Reserve takes room for one hold. The caller gives it back with Free.
func (t *Table[At]) Reserve() bool {
	if t.taken.Add(1) > t.most {
		t.Free()
		return false
	}
	return true
}

// Free gives back the room for one hold.
func (t *Table[At]) Free() { t.taken.Add(-1) }

// TooMany returns the error of a hold for which there is no room.
func (t *Table[At]) TooMany() error {
	return reason.Failed(codes.ResourceExhausted, &agentpb.Problem{
		Code: agentpb.Problem_TOO_MANY_HELD, Args: map[string]string{"count": strconv.Itoa(int(t.most))},
	})
}

// Hold stops the calling goroutine until the hold is released, its lease is over, its client is gone, or a timer is about to
// trip. It sends the hold to got, unless that is nil. The caller has reserved room for the hold.
func (t *Table[At]) Hold(h *Hold[At], got chan<- *Hold[At]) {
	h.released, h.ended = make(chan struct{}), make(chan struct{})
	h.setEnd()
	defer close(h.ended)
	t.add(h)
	defer t.remove(h)
	// Forbid sets its flag before it looks for holds. So either it finds this hold, or the check below sees the flag.
	if no := h.Pod.Forbidden(); no != "" {
		h.Release(no)
	}
	t.begin(h)
	if got != nil {
		got <- h
	}
	timer := time.NewTimer(h.ends.Sub(h.Since))
	defer timer.Stop()
	select {
	case <-h.GaveUp:
		h.Release(agentpb.ReleaseCallGivenUp)
	case <-h.released:
	case <-timer.C:
		h.Release(h.endReason())
	case <-h.Client.Done():
		h.Release(agentpb.ReleaseClientGone)
	case <-t.closed:
		h.Release(agentpb.ReleaseAgentEnds)
	}
	if h.GoesOn != nil {
		h.GoesOn()
	}
	t.end(h)
}

func (t *Table[At]) add(h *Hold[At]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastID++
	h.id = t.lastID
	t.all[h.id] = h
}

// begin puts the HOLD event. From then on the hold is listed: List returns exactly the holds that have an event.
func (t *Table[At]) begin(h *Hold[At]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h.begun, h.seq = true, h.Put(agentpb.Kind_HOLD, 0, h.fields())
	if !h.delays() {
		t.begun++
	}
}

// end takes the hold out of the list and puts the RELEASE event.
func (t *Table[At]) end(h *Hold[At]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.all[h.id]; ok && !h.delays() {
		t.held += time.Since(h.Since)
	}
	delete(t.all, h.id)
	h.endedSeq = h.Put(agentpb.Kind_RELEASE, time.Since(h.Since), h.endFields())
}

// remove takes the hold out of the list if end did not, because the call panicked.
func (t *Table[At]) remove(h *Hold[At]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, h.id)
}

// Forbid lets a pod go for good: it is not held again.
func (t *Table[At]) Forbid(p *Pod[At], reason string) {
	p.forbidden.Store(&reason)
	t.Drop(p, reason)
	for _, h := range t.Of(p) {
		h.Release(reason)
	}
}

// List returns the holds that have begun, oldest first, of a pod or, for nil, of all pods. seq is the number of the last
// event that was put as they were read.
func (t *Table[At]) List(p *Pod[At]) (begun []*Hold[At], seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	begun = slices.DeleteFunc(t.sorted(p), func(h *Hold[At]) bool { return !h.begun })
	return begun, t.last()
}

// Of returns the holds of a pod, or of all pods for nil, oldest first.
func (t *Table[At]) Of(p *Pod[At]) []*Hold[At] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sorted(p)
}

// Asked reports whether a person asked for a hold of a pod, or of any pod for nil, and waits for it or has it.
func (t *Table[At]) Asked(p *Pod[At]) bool {
	if p == nil && t.pending.Load() > 0 || p != nil && p.Pending() != nil {
		return true
	}
	return slices.ContainsFunc(t.Of(p), func(h *Hold[At]) bool {
		return h.Why.Cause == agentpb.Cause_CAUSE_HOLD || h.Why.Cause == agentpb.Cause_CAUSE_STEP
	})
}

// sorted is Of for a caller that holds mu.
func (t *Table[At]) sorted(p *Pod[At]) []*Hold[At] {
	var out []*Hold[At]
	for _, h := range t.all {
		if p == nil || h.Pod == p {
			out = append(out, h)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// Counts are how many holds there were.
type Counts struct {
	// Begun counts the holds that have begun, Now those that go on. Held is the sum of how long each of them lasted. A
	// delay counts as no hold.
	Begun uint64
	Now   int
	Held  time.Duration
}

// Counts returns how many holds there were.
func (t *Table[At]) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := Counts{Begun: t.begun, Held: t.held}
	for _, h := range t.all {
		if h.begun && !h.delays() {
			out.Now++
			out.Held += time.Since(h.Since)
		}
	}
	return out
}
