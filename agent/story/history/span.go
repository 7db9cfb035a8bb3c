package history

import "time"

// None stands for no span, no event, no place in a list.
const None = -1

// Span is one call of a step, as part of one pod's story.
type Span struct {
	// ID is the agent's number for the call, plus that of its epoch.
	ID         uint64
	Start, End int64 // session time; End is valid once Exit is known
	// Enter and Exit are the positions of the call's events, None if they were
	// not seen.
	Enter, Exit int
	Parent      int // reference of the enclosing call of the same pod, or None
	// Item is the item of the pod's outline that the call belongs to, or None: see
	// package outline.
	Item    int
	Ordinal int // place in the pod's own list of spans
	Pod     int // place of the pod in the history
	Sync    uint32
	// Line is the source line at which the function of the call around it makes the call; zero: it is not known.
	Line      uint32
	Step      StepID
	Goroutine uint8
	Failed    bool
	Worker    bool // it happens on the pod's worker, or because of it
	Shape     Shape
}

// Shape is which ends of a call were seen.
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

// Took returns how long the call took, or has taken at a position whose time is now.
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
	chunks List[[]Span]
	// old has the open calls from before the chunks: there are few, and some go on for as long as the kubelet does.
	old    map[int]*Span
	end    int
	byID   map[uint64]int
	lastID uint64
}

func newSpans() spans { return spans{old: map[int]*Span{}, byID: map[uint64]int{}} }

func (t *spans) add(s Span) int {
	if t.end%spanChunk == 0 {
		t.chunks.Add(make([]Span, 0, spanChunk))
	}
	last := t.chunks.Last()
	*last = append(*last, s)
	t.byID[s.ID] = t.end
	t.lastID = max(t.lastID, s.ID)
	t.end++
	return t.end - 1
}

// at returns a span; nil: there is none, or it is forgotten.
func (t *spans) at(i int) *Span {
	if i < 0 || i >= t.end {
		return nil
	}
	if chunk := t.chunks.At(i / spanChunk); chunk != nil {
		return &(*chunk)[i%spanChunk]
	}
	return t.old[i]
}

func (t *spans) find(id uint64) int {
	if i, ok := t.byID[id]; ok && id != 0 {
		return i
	}
	return None
}

// lose ends open calls whose ends nobody will see: those of an agent that is gone, or of a probe that works no more.
// They are those for which of returns true; if of is nil, all. pos is the position of the last event.
func (t *spans) lose(pos int, at int64, of func(*Span) bool) {
	end := func(s *Span) {
		if s.Exit == None && (of == nil || of(s)) {
			s.Exit, s.End, s.Shape = max(pos, s.Enter), max(at, s.Start), NoExit
		}
	}
	for _, s := range t.old {
		end(s)
	}
	for _, chunk := range t.chunks.All {
		for i := range chunk {
			end(&chunk[i])
		}
	}
}

// forget drops spans whose events are all gone.
func (t *spans) forget(before int) {
	for i, s := range t.old {
		if s.Over(before) {
			t.drop(i, s)
			delete(t.old, i)
		}
	}
	c := t.chunks.First
	for ; c < t.chunks.End()-1; c++ {
		chunk := *t.chunks.At(c)
		if chunk[0].Enter >= before {
			break
		}
		t.leave(c*spanChunk, chunk, before)
	}
	t.chunks.Forget(c)
}

// leave drops the spans of a chunk that were over at a position, and keeps the others.
func (t *spans) leave(first int, chunk []Span, before int) {
	for i := range chunk {
		s := &chunk[i]
		if s.Over(before) {
			t.drop(first+i, s)
			continue
		}
		alone := *s // a copy, since a pointer into the chunk would keep all of it
		t.old[first+i] = &alone
	}
}

// drop removes a span from the indexes.
func (t *spans) drop(i int, s *Span) {
	if t.byID[s.ID] == i {
		delete(t.byID, s.ID)
	}
}
