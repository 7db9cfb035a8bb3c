package state

import "github.com/podstep/podstep/agent/agentpb"

// podAt is what a pod is doing as of a position. At the present, a hold that the
// agent has told of counts before its event comes: all parts of a screen are to
// name the same step.
func (s *State) podAt(i, at int) *podNow {
	p := s.worldAt(at).get(i)
	if at < s.arena.end || s.frozen() || s.link == LinkReplay {
		return p
	}
	for k := range s.holds {
		if h := &s.holds[k]; h.pod == i && i > 0 && s.isNews(i, h.HoldInfo) {
			out := *p
			out.told, out.holds, out.heldAt = h.HoldInfo, max(1, p.holds), none
			out.held = s.openCall(i, h.GetStep())
			return &out
		}
	}
	return p
}

// isNews tells whether the events do not know of a hold yet: it began after the
// last one that they tell of.
func (s *State) isNews(pod int, h *agentpb.HoldInfo) bool {
	notes := &s.pods[pod].notes
	for i := notes.end() - 1; i >= notes.first; i-- {
		if n := notes.at(i); n.kind == agentpb.Kind_HOLD {
			return h.GetSince().AsTime().UnixNano()-s.origin > s.timeAt(n.pos)
		}
	}
	return true
}

// openCall is the newest call of a step of a pod that goes on, or none.
func (s *State) openCall(pod int, step string) int {
	id, spans := s.steps.byName[step], &s.pods[pod].spans
	for i, n := spans.end()-1, 0; i >= spans.first && n < lookBack; i, n = i-1, n+1 {
		ref := *spans.at(i)
		if sp := s.spans.at(ref); sp != nil && sp.step == id && sp.exit == none {
			return ref
		}
	}
	return none
}
