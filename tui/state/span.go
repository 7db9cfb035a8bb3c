package state

import (
	"github.com/podstep/podstep/agent/wire"
)

// none stands for no span, no event, no place in a list.
const none = -1

// span is one call of a step, as part of one pod's story.
type span struct {
	id         uint64
	start, end int64 // session time; end counts only once exit is known
	enter      int   // positions of its events; none if they were not seen
	exit       int
	parent     int // place in spans
	item       int // which item of the pod's story it belongs to
	ordinal    int // place in the pod's own list of spans
	pod        int // place in pods
	sync       uint32
	step       stepID
	goroutine  uint8
	failed     bool
	worker     bool // it happens on the pod's worker, or because of it
	shape      spanShape
}

// spanShape is how a span came to be known.
type spanShape uint8

const (
	whole   spanShape = iota
	noEnter           // only its end was seen
	noExit            // its end will not be seen any more
)

// over tells whether the call had ended at a position.
func (s *span) over(at int) bool {
	return s.exit != none && s.exit < at
}

// spanChunk is how many spans are kept, and forgotten, together.
const spanChunk = 256

// spans keeps all calls in the order in which they were seen.
type spans struct {
	chunks [][]span // nil: forgotten
	end    int
	byID   map[uint64]int
	lastID uint64
	kept   int // chunks before this one were looked at and forgotten
}

func (t *spans) add(s span) int {
	if t.end%spanChunk == 0 {
		t.chunks = append(t.chunks, make([]span, 0, spanChunk))
	}
	last := len(t.chunks) - 1
	t.chunks[last] = append(t.chunks[last], s)
	t.byID[s.id] = t.end
	t.lastID = max(t.lastID, s.id)
	t.end++
	return t.end - 1
}

// at gives a span, nil if there is none or it is forgotten.
func (t *spans) at(i int) *span {
	if i < 0 || i >= t.end || t.chunks[i/spanChunk] == nil {
		return nil
	}
	return &t.chunks[i/spanChunk][i%spanChunk]
}

func (t *spans) find(id uint64) int {
	if i, ok := t.byID[id]; ok && id != 0 {
		return i
	}
	return none
}

// lose ends the calls that go on: their agent is gone, and nobody will tell how
// they ended. The position is that of the last event.
func (t *spans) lose(pos int, at int64) {
	for _, chunk := range t.chunks {
		for i := range chunk {
			if s := &chunk[i]; s.exit == none {
				s.exit, s.end, s.shape = max(pos, s.enter), max(at, s.start), noExit
			}
		}
	}
}

// forget drops spans whose events are all gone. Calls that still go on keep
// their neighbours alive: there are few of them.
func (t *spans) forget(before int) {
	front := true
	for c := t.kept; c < len(t.chunks)-1; c++ {
		chunk := t.chunks[c]
		if chunk != nil {
			if chunk[0].enter >= before {
				return
			}
			if gone(chunk, before) {
				for i := range chunk {
					if t.byID[chunk[i].id] == c*spanChunk+i {
						delete(t.byID, chunk[i].id)
					}
				}
				t.chunks[c], chunk = nil, nil
			}
		}
		if front = front && chunk == nil; front {
			t.kept = c + 1
		}
	}
}

func gone(chunk []span, before int) bool {
	for i := range chunk {
		if !chunk[i].over(before) {
			return false
		}
	}
	return true
}

// span makes one of its enter, or of its exit if that is all that is known.
func (s *State) newSpan(pos int, h *wire.Header, at int64) span {
	return span{
		id: h.Span + s.epoch.spans, start: at, enter: pos, exit: none, parent: s.spans.find(parentID(h, s.epoch.spans)),
		item: none, sync: h.Sync, goroutine: uint8(min(h.Goroutine, 255)),
	}
}

func parentID(h *wire.Header, base uint64) uint64 {
	if h.Parent == 0 {
		return 0
	}
	return h.Parent + base
}
