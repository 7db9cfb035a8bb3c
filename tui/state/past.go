package state

import "github.com/podstep/podstep/agent/wire"

// checkpoint is the world at an earlier position, to go back to.
type checkpoint = world

// checkpointEvery is the least number of events between two checkpoints.
const checkpointEvery = 2 * chunkEvents

// keepCheckpoint notes the world now and then: rarer, the more pods there are.
func (s *State) keepCheckpoint() {
	last := 0
	if n := len(s.checkpoints); n > 0 {
		last = s.checkpoints[n-1].at
	}
	if s.now.at-last >= max(checkpointEvery, 32*len(s.now.pods)) {
		s.checkpoints = append(s.checkpoints, s.now.clone())
	}
}

// worldAt gives what was known before a position. It goes on from where it was
// asked last, or from the checkpoint before.
func (s *State) worldAt(at int) *world {
	if at >= s.now.at {
		return &s.now
	}
	from := world{at: s.arena.first}
	for i := len(s.checkpoints) - 1; i >= 0; i-- {
		if s.checkpoints[i].at <= at {
			from = s.checkpoints[i]
			break
		}
	}
	if s.past.at > at || s.past.at < from.at {
		s.past = from.clone()
	}
	for s.past.at < at {
		pos := s.past.at
		f, h := fact{pos: pos}, wire.Header{}
		if f.raw = s.arena.at(pos); f.raw == nil {
			s.past.at++
			continue
		}
		h, _ = wire.ReadHeader(f.raw)
		e := s.epochAt(pos)
		f.h, f.time = &h, h.Mono+e.shift
		f.step, f.pod = e.step(h.Step), e.pod(h.Pod)
		f.span = s.spans.find(spanID(&h, e))
		s.apply(&s.past, &f)
	}
	return &s.past
}

func spanID(h *wire.Header, e *epoch) uint64 {
	if h.Span == 0 {
		return 0
	}
	return h.Span + e.spans
}
