package spread

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
)

// Spreads has the spreads of a history at all positions. Only one goroutine may use it.
type Spreads struct {
	h      *history.History
	wanted Wanted
	all    tape
	pod    int // the pod that one is about
	one    tape
}

// New makes the spreads of a history that has no events yet. They have the calls that wanted chooses.
func New(h *history.History, wanted Wanted) *Spreads {
	s := &Spreads{h: h, wanted: wanted, pod: history.None}
	s.all = newTape(h.End())
	h.BeforeForgetting(s.forget)
	return s
}

// Apply adds the next event of the history.
func (s *Spreads) Apply(r *history.Record) {
	s.all.add(s, r)
}

// At returns the spread of all pods and the node as of a position. It is valid until the next call of At.
func (s *Spreads) At(at int) *Spread {
	return s.all.at(at, func(from *Spread, add func(pos int)) {
		for pos := from.At; pos < at; pos++ {
			add(pos)
		}
	}, s)
}

// OfPod returns the spread of one pod as of a position, by its place in the history. It is valid until the next call of
// OfPod. It has the calls whose events are kept when the pod is asked for first, and all later ones for as long as no
// other pod is asked for.
func (s *Spreads) OfPod(pod, at int) *Spread {
	if pod != s.pod {
		s.pod, s.one = pod, newTape(s.h.First())
	}
	return s.one.at(at, func(from *Spread, add func(pos int)) {
		events := &s.h.Pod(pod).Events
		for _, pos := range events.All[history.LowerBound(events.All, from.At):] {
			if pos >= at {
				break
			}
			add(pos)
		}
	}, s)
}

// forget makes sure that no event before a position is needed any more.
func (s *Spreads) forget(before int) {
	s.all.forget(s.At(before), before)
	if s.pod != history.None {
		s.one.forget(s.OfPod(s.pod, before), before)
	}
}

// checkpointEvery is how many events there are between two checkpoints.
const checkpointEvery = 16384

// tape has the spread of some events at all positions: the latest, the one that was asked for last, and one now and then.
type tape struct {
	now, past   Spread
	checkpoints []Spread // oldest first; never empty
	since       int      // how many events were added since the last one
}

func newTape(at int) tape {
	empty := Spread{At: at, owner: new(owner)}
	t := tape{now: empty.clone(), checkpoints: []Spread{empty.clone()}}
	t.past = empty
	return t
}

// add adds an event at the end.
func (t *tape) add(s *Spreads, r *history.Record) {
	t.now.add(s.h, r, s.wanted)
	if t.since++; t.since >= checkpointEvery {
		t.checkpoints, t.since = append(t.checkpoints, t.now.clone()), 0
	}
}

// at returns the spread as of a position. walk calls add for each event from a spread's position up to that one.
func (t *tape) at(at int, walk func(from *Spread, add func(pos int)), s *Spreads) *Spread {
	var head wire.Header
	if at >= t.now.At {
		walk(&t.now, func(pos int) {
			if r, ok := s.h.Record(pos, &head); ok {
				t.add(s, &r)
			}
		})
		t.now.At = at
		return &t.now
	}
	from := &t.checkpoints[0]
	for i := range t.checkpoints {
		if t.checkpoints[i].At <= at {
			from = &t.checkpoints[i]
		}
	}
	if t.past.At > at || t.past.At < from.At {
		t.past = from.clone()
	}
	walk(&t.past, func(pos int) {
		if r, ok := s.h.Record(pos, &head); ok {
			t.past.add(s.h, &r, s.wanted)
		}
	})
	t.past.At = at
	return &t.past
}

// forget makes base, which is the spread as of a position, the first checkpoint.
func (t *tape) forget(base *Spread, before int) {
	kept := []Spread{base.clone()}
	for i := range t.checkpoints {
		if t.checkpoints[i].At > before {
			kept = append(kept, t.checkpoints[i])
		}
	}
	t.checkpoints = kept
}
