package state

// line is a row of a story before it is put into words: most of a story's rows
// are not on the screen.
type line struct {
	key         lineKey
	kind        RowKind
	depth       int
	span        int // none: not about one call
	item        int
	times       int
	hidden      int // quieter calls beneath that are left out
	last        int // the last item of a fold
	opens, open bool
	inner       bool   // something beneath failed, and is shown
	step        stepID // of what is expected, and of folds
	of          string // the container that is meant by what is expected
	base        int64  // when its chapter began
}

// lineKey identifies a line for as long as what it is about is remembered.
type lineKey struct {
	kind byte
	a, b int
}

// Kinds of keys.
const (
	keyChapter  = 'c'
	keySpan     = 's'
	keyTurn     = 't'
	keyFold     = 'f' // turns that tried the same
	keyEntry    = 'e' // calls of one step
	keyNote     = 'n'
	keyExpected = 'x'
	keyRoutine  = 'r' // what is routine in a segment
	keyReports  = 'q' // what was reported besides
	keyUnseen   = 'u' // the stages of a chapter that the probe does not see
	keyStage    = 'g' // one of them
	keyHidden   = 'v' // a step of it
	keyToCome   = 'w' // a call that is to come, seen from beside the kubelet
)

// lines are the rows of a story: those of segments that do not change any more,
// and those of the last ones.
type lines struct{ done, tail []line }

func (l *lines) len() int { return len(l.done) + len(l.tail) }

func (l *lines) at(i int) *line {
	if i < len(l.done) {
		return &l.done[i]
	}
	return &l.tail[i-len(l.done)]
}

// find gives the place of a line, or none. Near is where it was last.
func (l *lines) find(k lineKey, near int) int {
	if near >= 0 && near < l.len() && l.at(near).key == k {
		return near
	}
	for i := l.len() - 1; i >= 0; i-- {
		if l.at(i).key == k {
			return i
		}
	}
	return none
}

// parent is the place of the line that a line is nested in, or none.
func (l *lines) parent(i int) int {
	for j := i - 1; j >= 0; j-- {
		if l.at(j).depth < l.at(i).depth {
			return j
		}
	}
	return none
}

// layoutCache has the lines of the segments before a place.
type layoutCache struct {
	lines   []line
	offsets []int // where each segment's lines begin
	first   int   // the first segment in it
	at      int   // of the layout that was asked for last, with its version
	version uint64
	last    lines
}

// layout gives the lines of a pod's story as of a position.
func (s *State) layout(p *pod, at int) *lines {
	c := &p.cache
	if c.last.len() > 0 && c.version == s.version && c.at == at {
		return &c.last
	}
	t := &p.tale
	end := t.segments.end()
	if at < s.arena.end {
		end = t.before(p, at)
	}
	tail := max(end-settled, t.segments.first)
	s.cacheLines(p, tail)
	l := layouter{s: s, p: p, at: at, now: s.podAt(p.place, at)}
	c.last.done = c.lines[:c.offset(tail)]
	if tail > t.segments.first {
		l.chapter = t.segments.at(tail - 1).chapter
		l.base = s.chapterBase(p, l.chapter)
		l.any = true
	}
	last := s.lastSegments(p, tail, end, at)
	for i, g := range last {
		l.current, l.latest = i >= len(last)-2, i == len(last)-1
		l.segment(g)
	}
	c.last.tail, c.version, c.at = l.out, s.version, at
	return &c.last
}

// lastSegments are the segments from one to before another. If the position is
// not the end, the last two are told anew: where one ends and the next begins
// may have become known only later.
func (s *State) lastSegments(p *pod, from, to, at int) (out []*segment) {
	t := &p.tale
	sure := to
	if at < s.arena.end {
		sure = max(from, to-2)
		if s.epoch.beside {
			sure = from // a segment is a whole chapter there, and may not have begun yet
		}
	}
	for i := from; i < sure; i++ {
		out = append(out, t.segments.at(i))
	}
	if sure == to {
		return out
	}
	part := tale{until: at}
	part.tell(s, p, t.segments.at(sure).first, p.items.end())
	for k := range part.segments.all {
		out = append(out, &part.segments.all[k])
	}
	return out
}

// before is how many segments had begun at a position.
func (t *tale) before(p *pod, at int) int {
	lo, hi := t.segments.first, t.segments.end()
	for lo < hi {
		mid := (lo + hi) / 2
		if it := p.items.at(t.segments.at(mid).first); it != nil && it.pos >= at {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// cacheLines makes sure that the lines of all segments before one are there.
func (s *State) cacheLines(p *pod, before int) {
	c, t := &p.cache, &p.tale
	if c.first != t.segments.first || c.offsets == nil {
		*c = layoutCache{first: t.segments.first, offsets: []int{0}}
	}
	if c.first+len(c.offsets)-1 >= before {
		return
	}
	l := layouter{s: s, p: p, at: s.arena.end, now: &nothingYet, out: c.lines}
	for i := c.first + len(c.offsets) - 1; i < before; i++ {
		if i > c.first {
			l.chapter, l.any = t.segments.at(i-1).chapter, true
			l.base = s.chapterBase(p, l.chapter)
		}
		l.segment(t.segments.at(i))
		c.offsets = append(c.offsets, len(l.out))
	}
	c.lines = l.out
}

func (c *layoutCache) offset(segment int) int {
	return c.offsets[min(max(segment-c.first, 0), len(c.offsets)-1)]
}

// settled is how many segments at the end of a story may still change.
const settled = 3

// touched is told of an item that has changed, in case its lines are kept.
func (p *pod) touched(item int) {
	if g := p.tale.segments.at(p.tale.segments.end() - settled); g != nil && item < g.first {
		p.cache = layoutCache{}
	}
}

// layouter lays out segments one after the other.
type layouter struct {
	s       *State
	p       *pod
	at      int
	now     *podNow
	current bool // the segments are the last ones: what matters in them is open
	latest  bool // the segment is the last one
	chapter chapter
	any     bool // chapter is set
	base    int64
	out     []line
}

func (l *layouter) segment(g *segment) {
	if !l.any || g.chapter != l.chapter {
		l.any, l.chapter = true, g.chapter
		l.base = l.s.chapterBase(l.p, g.chapter)
		l.add(line{key: lineKey{kind: keyChapter, a: int(g.chapter)}, kind: RowChapter, span: none, item: g.first, opens: true, open: l.isOpen(lineKey{kind: keyChapter, a: int(g.chapter)}, true)})
	}
	if !l.isOpen(lineKey{kind: keyChapter, a: int(g.chapter)}, true) {
		return
	}
	switch n := len(g.tries); {
	case n == 1:
		l.turn(g.tries[0], 1, l.current && !l.idle(g.tries[0]))
	case n > 1:
		l.fold(g)
	}
	if l.s.epoch.beside {
		l.beside(g)
		return
	}
	l.between(g)
}

// idle tells whether a turn has ended in which there was nothing to do.
func (l *layouter) idle(turn int) bool {
	t := l.p.turns.at(turn)
	return t != nil && t.done != none && t.done < l.at && !t.eventful && t.kind <= turnSync
}

// item is one call with what happened in it, a turn, or a note.
func (l *layouter) item(i, depth int) {
	it := l.p.items.at(i)
	switch {
	case it == nil:
	case it.turn != none:
		l.turn(it.turn, depth, false)
	case it.span == none:
		l.add(line{key: lineKey{kind: keyNote, a: it.pos}, kind: RowNote, depth: depth, span: none, item: i})
	default:
		l.tree(it, i, depth)
	}
}

// chapterBase is when a chapter began.
func (s *State) chapterBase(p *pod, c chapter) int64 {
	if c == creation {
		return s.now.get(p.place).first
	}
	for _, m := range p.marks {
		if m.chapter == c {
			if it := p.items.at(m.item); it != nil && it.pos >= s.arena.first {
				return s.timeAt(it.pos)
			}
			return m.at
		}
	}
	return 0
}
