package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// Holds lists the pods that are held, as of the events that came with it and before.
type Holds struct {
	At   time.Time
	List []*agentpb.HoldInfo
}

// order puts the agent's answers in order with the events of the stream, which answers overtake. It lists a hold
// from its HOLD event to its RELEASE event. Each connection has an order of its own, since an order goes by the
// numbers of one agent's events.
type order struct {
	mu    sync.Mutex
	known map[uint32]*knownHold // by id
	// begun has the holds whose HOLD event was taken and whose RELEASE event was not, by the number of the HOLD
	// event.
	begun map[uint64]holdCall
	// list is the agent's last list of all holds.
	list *agentpb.ListHoldsResponse
	// released is the number of each pod's last RELEASE event, by the pod's number.
	released map[uint32]uint64
	// taken is the number up to which the reader took the events. read is the number up to which it has dealt with
	// them.
	taken, read uint64
	changed     chan struct{} // closed when something was read, or ended is set
	ended       error
}

// knownHold is a hold from an answer of the agent.
type knownHold struct {
	*agentpb.HoldInfo
	at time.Time // of the answer
	// asOf is the number of the last event that the answer includes. gone is the same for an answer which does not
	// have the hold any more; 0: there was no such answer.
	asOf, gone uint64
	// listed: the reader was given the hold. read: the reader has dealt with that.
	listed, read bool
}

// holdCall is the call that a pod is held at.
type holdCall struct {
	pod  uint32
	span uint64
}

// mark is a HOLD or RELEASE event.
type mark struct {
	kind agentpb.Kind
	seq  uint64
	call holdCall
}

func newOrder() *order {
	return &order{known: map[uint32]*knownHold{}, begun: map[uint64]holdCall{}, released: map[uint32]uint64{}, changed: make(chan struct{})}
}

// ofBatch returns the news of a batch: its events, with what they say of holds.
func (o *order) ofBatch(b *agentpb.Batch) News {
	n := oneBatch(b)
	n.order, n.seq = o, b.GetSeq()
	for _, raw := range b.GetEvents() {
		h, err := wire.ReadHeader(raw)
		if err != nil {
			continue
		}
		n.seq = max(n.seq, h.Seq)
		if h.Kind == agentpb.Kind_HOLD || h.Kind == agentpb.Kind_RELEASE {
			n.marks = append(n.marks, mark{h.Kind, h.Seq, holdCall{h.Pod, h.Span}})
		}
		n.probes = n.probes || h.ReportsState()
	}
	return n
}

// listed takes a list of all holds, as of an event.
func (o *order) listed(list *agentpb.ListHoldsResponse, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = list
	there := map[uint32]bool{}
	for _, h := range list.GetHolds() {
		there[h.GetId()] = true
		o.know(h, at, list.GetSeq())
	}
	for id, k := range o.known {
		switch {
		case there[id]:
		case k.asOf <= list.GetSeq() && k.gone == 0:
			k.gone = list.GetSeq()
		}
	}
}

// granted takes a hold from an answer of the agent.
func (o *order) granted(h *agentpb.HoldInfo, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.know(h, at, h.GetSeq())
}

// know notes a hold from an answer. The caller holds mu.
func (o *order) know(h *agentpb.HoldInfo, at time.Time, asOf uint64) {
	k := o.known[h.GetId()]
	if k == nil {
		k = &knownHold{}
		o.known[h.GetId()] = k
	}
	k.HoldInfo, k.at, k.asOf, k.gone = h, at, max(k.asOf, asOf), 0
}

// deliver moves on to the events of n, which the reader is about to get, and puts the holds into n if they may have
// changed.
func (o *order) deliver(n *News, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range n.marks {
		o.mark(m)
	}
	o.taken = max(o.taken, n.seq)
	o.prune()
	if len(n.marks) == 0 && n.Poll == nil && !n.granted {
		return
	}
	n.Holds = &Holds{At: now}
	for id, k := range o.known {
		switch {
		case o.isOver(k):
			delete(o.known, id)
		case k.GetSeq() <= o.taken:
			k.listed = true
			n.Holds.List = append(n.Holds.List, k.aged(now))
		}
	}
	slices.SortFunc(n.Holds.List, func(a, b *agentpb.HoldInfo) int { return cmp.Compare(a.GetId(), b.GetId()) })
}

// prune forgets holds that have begun and are not in the last list: the stream lost their RELEASE events. The caller
// holds mu.
func (o *order) prune() {
	if o.list == nil || o.taken < o.list.GetSeq() {
		return
	}
	there := map[uint64]bool{}
	for _, h := range o.list.GetHolds() {
		there[h.GetSeq()] = true
	}
	for seq := range o.begun {
		if seq <= o.list.GetSeq() && !there[seq] {
			delete(o.begun, seq)
		}
	}
	o.list = nil
}

// mark takes a HOLD or RELEASE event. The caller holds mu.
func (o *order) mark(m mark) {
	if m.kind == agentpb.Kind_HOLD {
		o.begun[m.seq] = m.call
		return
	}
	o.released[m.call.pod] = m.seq
	for seq, call := range o.begun {
		if call == m.call && seq < m.seq {
			delete(o.begun, seq)
		}
	}
}

// isOver reports whether a hold has ended as of the events that were taken. The caller holds mu.
func (o *order) isOver(k *knownHold) bool {
	switch _, on := o.begun[k.GetSeq()]; {
	case k.gone != 0 && k.gone <= o.taken:
		return true // the RELEASE event was lost
	case on, k.asOf == 0: // zero: the HOLD event was lost, and no list has the hold yet
		return false
	}
	// The HOLD event was lost, or the hold has ended before the answer came.
	return k.GetSeq() <= o.taken && o.released[k.GetPod().GetId()] > k.asOf
}

// aged returns the hold with its times reduced by what has passed since the answer.
func (k *knownHold) aged(now time.Time) *agentpb.HoldInfo {
	h, by := proto.CloneOf(k.HoldInfo), now.Sub(k.at)
	left := func(d *durationpb.Duration) *durationpb.Duration {
		if d == nil {
			return nil
		}
		return durationpb.New(max(0, d.AsDuration()-by))
	}
	h.Lease, h.Ends = left(h.GetLease()), left(h.GetEnds())
	if b := h.GetBudget(); b != nil {
		b.Left = left(b.GetLeft())
	}
	return h
}

// wasRead notes that the reader has dealt with the events up to a number.
func (o *order) wasRead(seq uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read = max(o.read, seq)
	for _, k := range o.known {
		k.read = k.listed
	}
	o.broadcast()
}

// disconnected notes the end of the connection, which ends all waits.
func (o *order) disconnected(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = err
	o.broadcast()
}

func (o *order) broadcast() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// await waits until the reader has dealt with the events up to a number.
func (o *order) await(ctx context.Context, seq uint64) error {
	return o.waitUntil(ctx, func() bool { return o.read >= seq })
}

// awaitHold waits until the reader has dealt with a hold that was granted, or the hold is over.
func (o *order) awaitHold(ctx context.Context, id uint32) error {
	return o.waitUntil(ctx, func() bool { k := o.known[id]; return k == nil || k.read })
}

// waitUntil waits until the condition is true. It checks it with mu held.
func (o *order) waitUntil(ctx context.Context, is func() bool) error {
	for {
		o.mu.Lock()
		done, ended, changed := is(), o.ended, o.changed
		o.mu.Unlock()
		if done {
			return nil
		}
		if ended != nil {
			return ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
