package state

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/tui/screen"
)

// line is a row of a story that is not yet put into words. Most rows of a story are not on the screen, and need no
// words.
type line struct {
	key         lineKey
	kind        screen.RowKind
	depth       int
	span        int // none if the line is not about one call
	item        int
	times       int
	hidden      int // quieter calls beneath that are left out
	last        int // the last item of a fold
	opens, open bool
	inner       bool           // a row beneath failed, and is shown
	step        history.StepID // of expected rows and folds
	of          string         // the container of an expected call
	base        int64          // when its chapter began
}

// lineKey identifies a line for as long as podstep remembers what the line is about.
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
	keyReports  = 'q' // reports that need no row of their own
	keyUnseen   = 'u' // the stages of a chapter that the probe does not see
	keyStage    = 'g' // one of these stages
	keyHidden   = 'v' // a step of such a stage
	keyCall     = 'w' // a call that is expected where no turns are seen
)

// lines are the rows of a story: done has those of segments that do not change any more, tail those of the last
// segments.
type lines struct{ done, tail []line }

func (l *lines) len() int { return len(l.done) + len(l.tail) }

func (l *lines) line(i int) *line {
	if i < len(l.done) {
		return &l.done[i]
	}
	return &l.tail[i-len(l.done)]
}

// find returns the place of a line, or none. near is where the line was last.
func (l *lines) find(k lineKey, near int) int {
	if near >= 0 && near < l.len() && l.line(near).key == k {
		return near
	}
	for i := l.len() - 1; i >= 0; i-- {
		if l.line(i).key == k {
			return i
		}
	}
	return none
}

// parent returns the place of the line around a line, or none.
func (l *lines) parent(i int) int {
	for j := i - 1; j >= 0; j-- {
		if l.line(j).depth < l.line(i).depth {
			return j
		}
	}
	return none
}

// layoutCache has the lines of the segments before some place in the story.
type layoutCache struct {
	lines   []line
	offsets []int // where each segment's lines begin
	first   int   // the first segment in it
	at      int   // the position of the last layout, which goes with version
	version uint64
	last    lines
	// revision is the revision of the outline from which the lines were made.
	revision int
}

// layout returns the lines of a pod's story as of a position.
func (s *State) layout(p *pod, at int) *lines {
	c := &p.cache
	if c.revision != p.Revision {
		*c = layoutCache{revision: p.Revision}
	}
	if c.last.len() > 0 && c.version == s.version && c.at == at {
		return &c.last
	}
	t := &p.Segments
	tail := max(s.outlines.EndAt(p.Pod, at)-outline.Settled, t.First())
	s.cacheLines(p, tail)
	l := layouter{s: s, p: p, at: at, now: s.lives.At(at).Pod(p.Place)}
	c.last.done = c.lines[:c.offset(tail)]
	if tail > t.First() {
		l.chapter = t.At(tail - 1).Chapter
		l.base = s.chapterBase(p, l.chapter)
		l.any = true
	}
	last := s.outlines.As(p.Pod, tail, at)
	for i, g := range last {
		l.current, l.latest = i >= len(last)-2, i == len(last)-1
		l.segment(g)
	}
	c.last.tail, c.version, c.at = l.out, s.version, at
	return &c.last
}

// cacheLines makes sure that the cache has the lines of all segments before one.
func (s *State) cacheLines(p *pod, before int) {
	c, t := &p.cache, &p.Segments
	if c.first != t.First() || c.offsets == nil {
		*c = layoutCache{first: t.First(), offsets: []int{0}, revision: p.Revision}
	}
	if c.first+len(c.offsets)-1 >= before {
		return
	}
	l := layouter{s: s, p: p, at: s.h.End(), now: nothingYet, out: c.lines}
	for i := c.first + len(c.offsets) - 1; i < before; i++ {
		if i > c.first {
			l.chapter, l.any = t.At(i-1).Chapter, true
			l.base = s.chapterBase(p, l.chapter)
		}
		l.segment(t.At(i))
		c.offsets = append(c.offsets, len(l.out))
	}
	c.lines = l.out
}

func (c *layoutCache) offset(segment int) int {
	return c.offsets[min(max(segment-c.first, 0), len(c.offsets)-1)]
}

// nothingYet is the life of a pod of which nothing has been seen.
var nothingYet = new(life.World).Pod(0)

// layouter lays out segments one after the other.
type layouter struct {
	s       *State
	p       *pod
	at      int
	now     *life.Pod
	current bool // the segments are the last ones: rows in them that matter are open
	latest  bool // the segment is the last one
	chapter outline.Chapter
	any     bool // chapter is set
	base    int64
	out     []line
}

func (l *layouter) segment(g *outline.Segment) {
	if !l.any || g.Chapter != l.chapter {
		l.any, l.chapter = true, g.Chapter
		l.base = l.s.chapterBase(l.p, g.Chapter)
		l.addLine(line{key: lineKey{kind: keyChapter, a: int(g.Chapter)}, kind: screen.RowChapter, span: none, item: g.First, opens: true, open: l.isOpen(lineKey{kind: keyChapter, a: int(g.Chapter)}, true)})
	}
	if !l.isOpen(lineKey{kind: keyChapter, a: int(g.Chapter)}, true) {
		return
	}
	switch n := len(g.Tries); {
	case n == 1:
		l.turn(g.Tries[0], 1, l.current && !l.idle(g.Tries[0]))
	case n > 1:
		l.fold(g)
	}
	if !l.s.byTurns(l.p, g) {
		l.inOrder(g)
		return
	}
	l.between(g)
}

// idle reports whether a turn has ended and had nothing to do.
func (l *layouter) idle(turn int) bool {
	t := l.p.Turns.At(turn)
	return t != nil && t.Done != none && t.Done < l.at && !t.Eventful && t.Kind <= outline.Sync
}

// item lays out one call with what happened in it, a turn, or a note.
func (l *layouter) item(i, depth int) {
	it := l.p.Items.At(i)
	switch {
	case it == nil:
	case it.Turn != none:
		l.turn(it.Turn, depth, false)
	case it.Span == none:
		l.addLine(line{key: lineKey{kind: keyNote, a: it.Pos}, kind: screen.RowNote, depth: depth, span: none, item: i})
	default:
		l.tree(it, i, depth)
	}
}

// chapterBase returns the time when a chapter began.
func (s *State) chapterBase(p *pod, c outline.Chapter) int64 {
	if c == outline.Creation {
		return s.lives.Now().Pod(p.Place).First
	}
	for _, m := range p.Marks {
		if m.Chapter == c {
			if it := p.Items.At(m.Item); it != nil && it.Pos >= s.h.First() {
				return s.h.TimeAt(it.Pos)
			}
			return m.At
		}
	}
	return 0
}
