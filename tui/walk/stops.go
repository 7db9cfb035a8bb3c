package walk

import (
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// maxSeen bounds the events that a walk remembers: those of its own steps in a few minutes.
const maxSeen = 1 << 15

// holdsAt reports whether the walk holds a pod at a stop.
func (w *Walk) holdsAt(s *tours.Stop) bool {
	if s.Act != nil || s.Hold == "" {
		return false
	}
	i := slices.IndexFunc(w.Info.GetSteps(), func(p *agentpb.Step) bool { return p.GetName() == s.Step })
	if i < 0 {
		return false
	}
	rule := w.Info.GetSteps()[i].GetHoldEnter()
	if s.On == probes.Exit {
		rule = w.Info.GetSteps()[i].GetHoldExit()
	}
	return rule != "no" && rule != ""
}

// nextHold returns the hold stop whose place is to be set before the walk goes on to stop from: the first one, over
// watched stops, but not over an action.
func (w *Walk) nextHold(from int) int {
	for i := from; i < len(w.stops); i++ {
		switch s := w.stops[i]; {
		case s.Act != nil:
			return -1
		case w.holdsAt(s):
			return i
		}
	}
	return -1
}

// Add remembers the events that a stop may be about. Their pods are known, because the state has taken the batch
// already.
func (w *Walk) Add(b *agentpb.Batch) {
	for _, raw := range b.GetEvents() {
		h, err := wire.ReadHeader(raw)
		if err != nil || h.Step == 0 || int(h.Step) > len(w.Info.GetSteps()) || !w.wanted[w.Info.GetSteps()[h.Step-1].GetName()] {
			continue
		}
		w.seen = append(w.seen, w.Pods.Event(raw))
	}
	if over := len(w.seen) - maxSeen; over > 0 {
		w.seen = slices.Delete(w.seen, 0, over)
	}
}

// findEvent returns the first event after the last stop's event that matches stop s. In what is recorded it is the first at
// all: several goroutines of the kubelet begin at the same time, in no order.
func (w *Walk) findEvent(s *tours.Stop) *probes.Event {
	for i := range w.seen {
		if e := &w.seen[i]; (e.Seq > w.after || w.tour.Needs.Recorded) && s.Matches(e) && w.mine(e.Pod) {
			return e
		}
	}
	return nil
}

// holdAt returns the hold at stop s. pass has the other holds at the walk's own breakpoint, which are to be let go.
func (w *Walk) holdAt(s *tours.Stop, holds []*agentpb.HoldInfo) (at *agentpb.HoldInfo, pass []*agentpb.HoldInfo) {
	for _, h := range holds {
		if h.GetStep() != s.Step || h.GetOn() != string(s.On) || !session.OfBreakpoint(h, w.point) {
			continue
		}
		pod := wire.PodOf(h.GetPod())
		if at == nil && s.OfPod(&pod) && w.mine(&pod) && s.HasFields(wire.Fields(h.GetFields())) && (!s.Failed || h.GetError() != "") {
			at = h
			continue
		}
		pass = append(pass, h)
	}
	return at, pass
}

// lastSeen returns the sequence number up to which all events are behind the walk once a pod is held.
func (w *Walk) lastSeen() uint64 {
	if len(w.seen) == 0 {
		return w.after
	}
	return max(w.after, w.seen[len(w.seen)-1].Seq)
}
