package state

// tale is a pod's story as a list of segments. A segment begins with a turn of
// the worker in which something was done, or with a chapter; what follows is
// counted: calls of the same step become one entry, and so do turns in which
// nothing changed. So the tale of a pod that ran for a year is a short one.
type tale struct {
	segments list[segment]
	// until limits a tale to what was known at a position. Zero: to the end.
	until int
}

type segment struct {
	chapter     chapter
	first, last int // items, from first to before last
	// tries are the turns that the segment begins with: one, or several that
	// tried the same thing. Places in the pod's turns.
	tries   []int
	same    uint64
	entries []entry
}

// entry counts items of one step.
type entry struct {
	step        stepID
	sub         uint32
	failed      bool
	n           int
	first, last int // items
}

// maxTries bounds how many turns a segment remembers one by one.
const maxTries = 200

func (t *tale) lastSegment() *segment { return t.segments.at(t.segments.end() - 1) }

// add takes the next item.
func (t *tale) add(s *State, p *pod, i int) {
	it, c := p.items.at(i), p.chapterOf(i, t.until)
	seg := t.lastSegment()
	if seg == nil || seg.chapter != c || it.turn != none {
		t.segments.add(segment{chapter: c, first: i, last: i})
		seg = t.lastSegment()
	}
	seg.last = i + 1
	if it.turn != none {
		seg.tries = append(seg.tries, it.turn)
		return
	}
	step, failed := stepID(0), false
	if sp := s.spans.at(it.span); sp != nil {
		step, failed = sp.step, s.itemFailed(it, t.until)
	}
	seg.count(step, it.sub, failed, i)
}

// itemFailed tells whether something in an item had failed at a position; zero
// means by now.
func (s *State) itemFailed(it *item, at int) bool {
	sp := s.spans.at(it.fault)
	return sp != nil && (at == 0 || sp.over(at))
}

func (g *segment) count(step stepID, sub uint32, failed bool, item int) {
	for k := range g.entries {
		if e := &g.entries[k]; step != 0 && e.step == step && e.sub == sub && e.failed == failed {
			e.n++
			e.last = max(e.last, item)
			return
		}
	}
	g.entries = append(g.entries, entry{step: step, sub: sub, failed: failed, n: 1, first: item, last: item})
}

// failed moves an item to those that failed.
func (t *tale) failed(s *State, p *pod, i int) {
	it := p.items.at(i)
	sp := s.spans.at(it.span)
	seg := t.segmentOf(i)
	if seg == nil || sp == nil {
		return
	}
	for k := range seg.entries {
		if e := &seg.entries[k]; e.step == sp.step && e.sub == it.sub && !e.failed && (e.step != 0 || e.first == i) {
			if e.n--; e.n == 0 {
				seg.entries = append(seg.entries[:k], seg.entries[k+1:]...)
			} else {
				t.narrow(s, p, e)
			}
			break
		}
	}
	seg.count(sp.step, it.sub, true, i)
}

// narrow makes an entry begin and end with items that are still in it.
func (t *tale) narrow(s *State, p *pod, e *entry) {
	for e.first < e.last && !t.has(s, p, e, e.first) {
		e.first++
	}
	for e.last > e.first && !t.has(s, p, e, e.last) {
		e.last--
	}
}

// has tells whether an item that is no turn is counted by an entry.
func (t *tale) has(s *State, p *pod, e *entry, i int) bool {
	it := p.items.at(i)
	if it == nil || it.turn != none {
		return false
	}
	sp := s.spans.at(it.span)
	return sp != nil && sp.step == e.step && it.sub == e.sub && s.itemFailed(it, t.until) == e.failed
}

func (t *tale) segmentOf(item int) *segment {
	lo, hi := t.segments.first, t.segments.end()
	for lo < hi {
		if mid := (lo + hi) / 2; t.segments.at(mid).last <= item {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if g := t.segments.at(lo); g != nil && g.first <= item {
		return g
	}
	return nil
}

// finish is told that a turn has ended. One in which nothing was done is
// counted in the segment before; one that tried the same thing joins it.
func (t *tale) finish(s *State, p *pod, turn int) {
	tn, n := p.turns.at(turn), t.segments.end()-1
	seg, before := t.segments.at(n), t.segments.at(n-1)
	if tn == nil || seg == nil || len(seg.tries) != 1 || seg.tries[0] != turn {
		return
	}
	seg.same = tn.same
	if before == nil || before.chapter != seg.chapter || len(before.tries) == 0 {
		return
	}
	switch {
	case !tn.eventful && tn.kind <= turnSync:
		before.count(s.steps.byName[string(stepTurn)], 0, false, tn.item)
	case tn.same != 0 && tn.same == before.same:
		before.tries = append(before.tries, turn)
		if len(before.tries) > maxTries {
			before.tries = append(before.tries[:1], before.tries[2:]...)
		}
	default:
		return
	}
	before.last = seg.last
	for _, e := range seg.entries {
		before.merge(e)
	}
	t.segments.all = t.segments.all[:len(t.segments.all)-1]
}

func (g *segment) merge(e entry) {
	for k := range g.entries {
		if o := &g.entries[k]; e.step != 0 && o.step == e.step && o.sub == e.sub && o.failed == e.failed {
			o.n += e.n
			o.last = max(o.last, e.last)
			return
		}
	}
	g.entries = append(g.entries, e)
}

// rebuild tells the tale anew from the segment that an item is in.
func (t *tale) rebuild(s *State, p *pod, from int) {
	n := t.segments.first
	for i := t.segments.end() - 1; i >= n; i-- {
		if t.segments.at(i).first <= from {
			n = i
			break
		}
	}
	if n >= t.segments.end() {
		return
	}
	start := t.segments.at(n).first
	t.segments.all = t.segments.all[:n-t.segments.first]
	t.tell(s, p, start, p.items.end())
	p.cache = layoutCache{}
}

// tell takes items one after the other, and the ends of turns where they come.
func (t *tale) tell(s *State, p *pod, from, to int) {
	pending := none
	end := func(before int) {
		if tn := p.turns.at(pending); tn != nil && tn.done != none && tn.done < before && (t.until == 0 || tn.done < t.until) {
			t.finish(s, p, pending)
			pending = none
		}
	}
	for i := from; i < to; i++ {
		it := p.items.at(i)
		if it == nil {
			continue
		}
		if t.until != 0 && it.pos >= t.until {
			break
		}
		end(it.pos)
		if it.turn != none {
			pending = it.turn
		}
		t.add(s, p, i)
	}
	end(1 << 62)
}

// forget drops segments of items that are forgotten.
func (t *tale) forget(before int) {
	n := 0
	for n < len(t.segments.all)-1 && t.segments.all[n].last <= before {
		n++
	}
	t.segments.forget(t.segments.first + n)
}
