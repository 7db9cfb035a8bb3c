package history

import "time"

// None stands for no span, no event, no place in a list.
const None = -1

// Span is one call of a step, as part of one pod's story.
type Span struct {
	// ID is the agent's number for the call, plus that of its epoch.
	ID         uint64
	Start, End int64 // session time; End counts only once Exit is known
	// Enter and Exit are the positions of the call's events, None if they were
	// not seen.
	Enter, Exit int
	Parent      int // reference of the enclosing call of the same pod, or None
	// Item is the item of the pod's outline that the call belongs to, or None: see
	// package outline.
	Item      int
	Ordinal   int // place in the pod's own list of spans
	Pod       int // place of the pod in the history
	Sync      uint32
	Step      StepID
	Goroutine uint8
	Failed    bool
	Worker    bool // it happens on the pod's worker, or because of it
	Shape     Shape
}

// Shape is how a span came to be known.
type Shape uint8

const (
	Whole   Shape = iota
	NoEnter       // only the end of the call was seen
	NoExit        // the end of the call will not be seen any more
)

// Over reports whether the call had ended at a position.
func (s *Span) Over(at int) bool {
	return s.Exit != None && s.Exit < at
}

// Took is how long the call took, or has taken at a position whose time is now.
func (s *Span) Took(at int, now int64) time.Duration {
	if s.Over(at) {
		return Since(s.Start, s.End)
	}
	return Since(s.Start, now)
}

// spanChunk is how many spans are kept, and forgotten, together.
const spanChunk = 32

// spans keeps all calls in the order in which they were seen.
type spans struct {
	chunks [][]Span // nil: forgotten
	end    int
	byID   map[uint64]int
	lastID uint64
	kept   int // chunks before this one were looked at and forgotten
}

func (t *spans) add(s Span) int {
	if t.end%spanChunk == 0 {
		t.chunks = append(t.chunks, make([]Span, 0, spanChunk))
	}
	last := len(t.chunks) - 1
	t.chunks[last] = append(t.chunks[last], s)
	t.byID[s.ID] = t.end
	t.lastID = max(t.lastID, s.ID)
	t.end++
	return t.end - 1
}

// at gives a span, nil if there is none or it is forgotten.
func (t *spans) at(i int) *Span {
	if i < 0 || i >= t.end || t.chunks[i/spanChunk] == nil {
		return nil
	}
	return &t.chunks[i/spanChunk][i%spanChunk]
}

func (t *spans) find(id uint64) int {
	if i, ok := t.byID[id]; ok && id != 0 {
		return i
	}
	return None
}

// lose ends the calls that go on and that nobody sees the ends of: those of an
// agent that is gone, or of a probe that works no more. The position is that of the
// last event. If of is nil, it is all calls.
func (t *spans) lose(pos int, at int64, of func(*Span) bool) {
	for _, chunk := range t.chunks {
		for i := range chunk {
			if s := &chunk[i]; s.Exit == None && (of == nil || of(s)) {
				s.Exit, s.End, s.Shape = max(pos, s.Enter), max(at, s.Start), NoExit
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
			if chunk[0].Enter >= before {
				return
			}
			if gone(chunk, before) {
				for i := range chunk {
					if t.byID[chunk[i].ID] == c*spanChunk+i {
						delete(t.byID, chunk[i].ID)
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

func gone(chunk []Span, before int) bool {
	for i := range chunk {
		if !chunk[i].Over(before) {
			return false
		}
	}
	return true
}
