package spread

import (
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// maxOpen bounds the calls that go on which a spread keeps. Beyond it the oldest is left out.
const maxOpen = 1 << 16

// Spread has the durations of all steps as of a position.
type Spread struct {
	// At is the position after the last event that is in it.
	At int
	// From and To are the session times between which its events happened. Both are zero if there are none.
	From, To int64

	any   bool
	owner *owner
	steps []*step // by number of the step; nil: no call has ended
	open  []int   // references of calls that go on, in order; some may be over because their ends will not be seen
	tidy  int     // how many calls were open when those that are over were last taken out
}

// Wanted chooses calls by their events. A nil Wanted chooses all.
type Wanted func(*history.Record) bool

// clone returns a spread that has the same steps. From then on neither of them changes a step of the other.
func (s *Spread) clone() Spread {
	s.owner = new(owner)
	out := *s
	out.owner = new(owner)
	out.steps, out.open = slices.Clone(s.steps), slices.Clone(s.open)
	return out
}

// add adds the next event.
func (s *Spread) add(h *history.History, r *history.Record, wanted Wanted) {
	s.At = r.Pos + 1
	if !s.any {
		s.any, s.From, s.To = true, r.Time, r.Time
	}
	s.From, s.To = min(s.From, r.Time), max(s.To, r.Time)
	if sp := h.Span(r.Span); sp != nil && counts(h, sp.Step) {
		switch {
		case r.Header.Kind == agentpb.Kind_ENTER && sp.Enter == r.Pos:
			if wanted == nil || wanted(r) {
				s.begin(h, r.Span)
			}
		case r.Header.Kind == agentpb.Kind_EXIT && sp.Exit == r.Pos:
			s.end(h, r, sp, wanted)
		}
	}
}

// counts reports whether calls of a step have durations that say something: reports have none, and a function that runs
// for a goroutine's whole life takes as long as the pod is there.
func counts(h *history.History, id history.StepID) bool {
	role := h.Role(id)
	return id != 0 && !h.Reported(id) && role != probes.RoleLife && role != probes.RoleWorker
}

func (s *Spread) begin(h *history.History, ref int) {
	if len(s.open) > 2*s.tidy+64 {
		s.open = slices.DeleteFunc(s.open, func(ref int) bool { return !goesOn(h, ref, s.At) })
		s.tidy = len(s.open)
	}
	if len(s.open) >= maxOpen {
		s.open = slices.Delete(s.open, 0, 1)
	}
	s.open = append(s.open, ref)
}

func goesOn(h *history.History, ref, at int) bool {
	sp := h.Span(ref)
	return sp != nil && !sp.Over(at)
}

func (s *Spread) end(h *history.History, r *history.Record, sp *history.Span, wanted Wanted) {
	if i, is := slices.BinarySearch(s.open, r.Span); is {
		s.open = slices.Delete(s.open, i, i+1)
	}
	unseen := sp.Shape == history.NoExit || sp.Shape == history.NoEnter && r.Header.Duration <= 0
	if unseen || wanted != nil && !wanted(r) {
		return
	}
	s.step(sp.Step).add(Call{sp.Pod, r.Span, h.Took(r.Span, s.At, sp.End), sp.ID, sp.Start}, sp.Failed)
}

// step returns a step to add a call to.
func (s *Spread) step(id history.StepID) *step {
	for len(s.steps) <= int(id) {
		s.steps = append(s.steps, nil)
	}
	if t := s.steps[id]; t == nil || t.owner != s.owner {
		s.steps[id] = t.clone(s.owner)
	}
	return s.steps[id]
}
