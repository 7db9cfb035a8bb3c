package state

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// pod is a pod of the session, with its story. Place 0 is the node itself.
type pod struct {
	entity probes.Pod
	place  int       // in the session's pods
	events list[int] // positions
	spans  list[int]
	items  list[item]
	turns  list[turn]
	marks  []mark
	// statuses are the phases, ready or not, that the pod has been in: it is
	// worth telling when one is new.
	statuses uint16
	tale     tale // as of the last event
	notes    list[note]
	// names are those of its containers, by id, and bound is the report of which
	// containers it has, or none. Only beside the kubelet.
	names map[string]string
	bound int
	// opened are the rows that the reader opened or closed.
	opened map[lineKey]bool
	cache  layoutCache
}

// item is one thing of a pod's story at its outermost level: a call that was
// made in no other, a turn of the worker, or a note.
type item struct {
	pos         int // position of its first event
	span        int // the call; of a turn: the first of its calls
	first, last int // its calls are among these of the pod's spans
	turn        int // place in turns, or none
	fault       int // the call in it that failed first, or none
	sub         uint32
	quiet       byte // the kind of the fold that it goes into by itself, or 0
}

// turn is one turn of the pod's worker, from reading its mailbox until the time
// of the next turn is set.
type turn struct {
	item       int
	span, work int // worker.turn, and SyncPod or what else it is for
	done       int // position of its end, or none
	eventful   bool
	failed     bool
	ended      bool   // nothing more belongs to it
	same       uint64 // equal in turns that try the same thing; 0: nothing to compare
	kind       turnKind
	sandboxes  bool // it made a sandbox
	deeds      []deed
}

// note is an event that is no call: a hold, a release, a fault, a loss.
type note struct {
	pos  int
	kind agentpb.Kind
	span int // that it is about, or none
}

// chapter is a part of a pod's life.
type chapter uint8

const (
	creation chapter = iota
	running
	termination
)

// mark says that a chapter begins with an item.
type mark struct {
	item    int
	chapter chapter
	pos     int // of the event that told so
	at      int64
}

// tell takes an event into its pod's story.
func (s *State) tell(p *pod, f *fact) {
	switch f.h.Kind {
	case agentpb.Kind_ENTER:
		s.tellEnter(p, f)
	case agentpb.Kind_EXIT:
		if sp := s.spans.at(f.span); sp != nil && sp.shape == noEnter && sp.enter == f.pos {
			s.tellEnter(p, f)
		}
		s.tellExit(p, f)
		if s.epoch.beside {
			s.nameContainer(p, f)
		}
	default:
		p.notes.add(note{pos: f.pos, kind: f.h.Kind, span: f.span})
		if f.span == none {
			p.addItem(s, item{pos: f.pos, span: none, first: p.spans.end(), last: p.spans.end(), turn: none, fault: none})
		} else if t := p.turnOf(s.spans.at(f.span)); t != nil {
			t.eventful = true
		}
	}
}

// turnOf is the turn that a span belongs to, or nil.
func (p *pod) turnOf(sp *span) *turn {
	if sp == nil {
		return nil
	}
	it := p.items.at(sp.item)
	if it == nil {
		return nil
	}
	return p.turns.at(it.turn)
}

func (s *State) tellEnter(p *pod, f *fact) {
	sp := s.spans.at(f.span)
	if sp == nil || sp.item != none {
		return
	}
	if up := s.spans.at(sp.parent); up != nil && !s.isLife(up.step) && s.stays(p, up.item) {
		sp.item = up.item
		p.items.at(sp.item).last = sp.ordinal + 1
		p.touched(sp.item)
		s.tellInTurn(p, sp, f)
		return
	}
	s.newItem(p, sp, f)
}

// isLife tells steps in which a goroutine spends its life.
func (s *State) isLife(id stepID) bool {
	r := s.steps.role(id)
	return r == roleLife || r == roleWorker
}

// stays tells whether an item may still grow: one that has long ended does
// not, or the story would change where nobody looks any more.
func (s *State) stays(p *pod, i int) bool {
	it := p.items.at(i)
	if it == nil {
		return false
	}
	t := p.turns.at(it.turn)
	return t == nil || !t.ended
}

func (s *State) newItem(p *pod, sp *span, f *fact) {
	if s.epoch.beside {
		s.newItemBeside(p, sp, f)
		return
	}
	last := p.turns.at(p.turns.end() - 1)
	open := last != nil && !last.ended
	switch r := s.steps.role(f.step); {
	case !s.ofWorker(sp):
	case r == roleStart, r == roleTurn && (!open || last.span != none):
		s.newTurn(p, sp, f)
		return
	case r == roleTurn || (r == roleAfter || r == roleEnd) && open:
		sp.item = last.item
		p.items.at(sp.item).last = sp.ordinal + 1
		s.tellInTurn(p, sp, f)
		return
	}
	sp.item = p.items.end()
	p.addItem(s, item{pos: f.pos, span: f.span, first: sp.ordinal, last: sp.ordinal + 1, turn: none, fault: none, sub: s.sub(f)})
}

// ofWorker tells whether a call is made by the worker itself.
func (s *State) ofWorker(sp *span) bool {
	up := s.spans.at(sp.parent)
	return up == nil || s.steps.role(up.step) == roleWorker
}

func (s *State) newTurn(p *pod, sp *span, f *fact) {
	if last := p.turns.at(p.turns.end() - 1); last != nil {
		s.endTurn(p, last)
	}
	sp.item = p.items.end()
	p.turns.add(turn{item: sp.item, span: none, work: none, done: none})
	p.addItem(s, item{pos: f.pos, span: f.span, first: sp.ordinal, last: sp.ordinal + 1, turn: p.turns.end() - 1, fault: none})
	s.tellInTurn(p, sp, f)
}

func (p *pod) addItem(s *State, it item) {
	p.tale.add(s, p, p.items.add(it))
}

// begin notes that a chapter begins with an item. Chapters do not come again,
// and a turn that has begun before its chapter did is told in it as a whole.
func (s *State) begin(p *pod, item int, c chapter, f *fact) {
	if n := len(p.marks); item == none || n > 0 && p.marks[n-1].chapter >= c || n == 0 && c == creation {
		return
	}
	p.marks = append(p.marks, mark{item: item, chapter: c, pos: f.pos, at: f.time})
	p.tale.rebuild(s, p, item)
}

// chapterOf is the chapter that an item belongs to, as of a position; zero
// means by now.
func (p *pod) chapterOf(item, at int) chapter {
	c := creation
	for _, m := range p.marks {
		if m.item <= item && (at == 0 || m.pos < at) {
			c = m.chapter
		}
	}
	return c
}

// sub tells apart calls of one step that are about different things: health
// probes of different containers and kinds. Zero: there is one thing only.
func (s *State) sub(f *fact) uint32 {
	if s.steps.role(f.step) != roleProbe {
		return 0
	}
	return uint32(hash(lookup(f.raw, "probeType").String(), lookup(f.raw, "container").text))
}

// forget drops what belongs to events before a position.
func (p *pod) forget(s *State, before int) {
	drop(&p.events, func(pos *int) bool { return *pos < before })
	drop(&p.notes, func(n *note) bool { return n.pos < before })
	drop(&p.spans, func(i *int) bool { return s.spans.at(*i) == nil })
	n := p.items.end()
	drop(&p.items, func(it *item) bool { return it.last <= p.spans.first && it.pos < before && n-p.items.first > 1 })
	drop(&p.turns, func(t *turn) bool { return t.item < p.items.first })
	p.tale.forget(p.items.first)
	p.cache = layoutCache{}
}

// drop forgets the oldest members for which gone is true.
func drop[T any](l *list[T], gone func(*T) bool) {
	n := 0
	for n < len(l.all) && gone(&l.all[n]) {
		n++
	}
	l.forget(l.first + n)
}
