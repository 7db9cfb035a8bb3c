package history

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// maxHolds bounds the holds of one call that are remembered: later holds count as the call's own time.
const maxHolds = 1 << 10

// holdTime is a time for which a call was held, itself or in a call that it made.
type holdTime struct {
	from, to   int // positions of the hold and of its release; to is None while it goes on
	start, end int64
	open       int // how many of the holds go on: several goroutines may be held
}

// withHeld calls each with a call that is held, and with the calls around it. It stops at a call that is a
// goroutine's whole life: holds are not taken off its time.
func (h *History) withHeld(ref int, each func(ref int)) {
	for sp := h.spans.at(ref); sp != nil; ref, sp = sp.Parent, h.spans.at(sp.Parent) {
		if role := h.Role(sp.Step); role == probes.RoleLife || role == probes.RoleWorker {
			return
		}
		each(ref)
	}
}

// hold notes that a call is held.
func (h *History) hold(r *Record) {
	h.withHeld(r.Span, func(ref int) {
		all := h.holds[ref]
		if n := len(all); n > 0 && all[n-1].to == None {
			all[n-1].open++
		} else if n < maxHolds {
			h.holds[ref] = append(all, holdTime{from: r.Pos, to: None, start: r.Time, open: 1})
		}
	})
}

// release ends the hold that goes on at a call.
func (h *History) release(r *Record) {
	h.withHeld(r.Span, func(ref int) {
		all := h.holds[ref]
		n := len(all)
		if n == 0 || all[n-1].to != None {
			h.releaseUnseen(r, ref)
			return
		}
		if all[n-1].open--; all[n-1].open == 0 {
			all[n-1].to, all[n-1].end = r.Pos, r.Time
		}
	})
}

// releaseUnseen notes a hold whose beginning was not seen: its end has the length.
func (h *History) releaseUnseen(r *Record, ref int) {
	all, start := h.holds[ref], r.Time-max(0, r.Header.Duration)
	if len(all) > 0 {
		start = max(start, all[len(all)-1].end)
	}
	if h.spans.at(ref).Exit == None && len(all) < maxHolds {
		h.holds[ref] = append(all, holdTime{from: r.Pos, to: r.Pos, start: start, end: r.Time})
	}
}

// forgetHolds drops the holds of calls that are not kept any more.
func (h *History) forgetHolds() {
	for ref := range h.holds {
		if h.spans.at(ref) == nil {
			delete(h.holds, ref)
		}
	}
}

// trackHold notes the beginning or the end of a hold.
func (h *History) trackHold(r *Record) {
	switch r.Header.Kind {
	case agentpb.Kind_HOLD:
		h.hold(r)
	case agentpb.Kind_RELEASE:
		h.release(r)
	}
}

// held returns for how much of the time from start to end the call was held, as known at a position.
func held(all []holdTime, at int, start, end int64) (sum time.Duration) {
	for _, t := range all {
		if t.from >= at {
			break
		}
		until := end
		if t.to != None && t.to < at {
			until = min(end, t.end)
		}
		sum += Since(max(start, t.start), until)
	}
	return sum
}
