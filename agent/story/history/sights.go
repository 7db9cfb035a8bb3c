package history

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// maxSights bounds the sights of one call that are kept: two for each probe that an agent may have.
const maxSights = 2 * maxProbes

// Sight reports whether the event tells only that one more probe saw the call of its span. Such an event is no part
// of the story by itself.
func (r *Record) Sight() bool {
	return r.Header.Kind == agentpb.Kind_NOTE && r.Header.Span != 0 && wire.Lookup(r.Raw, "seen").Kind == wire.TextValue
}

// addSight keeps the position of an event about one more probe that saw a call.
func (h *History) addSight(r *Record) {
	if all := h.sights[r.Span]; r.Span != None && len(all) < maxSights {
		h.sights[r.Span] = append(all, r.Pos)
	}
}

// Sights returns the positions of the events about more probes that saw a call, oldest first, as far as they are
// before a position.
func (h *History) Sights(ref, at int) []int {
	all := h.sights[ref]
	return all[:LowerBound(all, at)]
}

// forgetSights drops the sights of calls that are forgotten.
func (h *History) forgetSights() {
	for ref := range h.sights {
		if h.spans.at(ref) == nil {
			delete(h.sights, ref)
		}
	}
}
