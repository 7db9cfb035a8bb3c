package outline

import (
	"github.com/podstep/podstep/agent/story/history"
)

// Segments are the outline of a pod's story. A segment begins with a turn of the worker in which something was done,
// or with a chapter. The items behind that are counted: calls of the same step become one entry, and so do turns in
// which nothing changed. So the outline of a pod that ran for a year is short.
type Segments struct {
	list history.List[Segment]
	// until limits the segments to what was known at a position. Zero: no limit.
	until int
}

// Segment is a part of an outline.
type Segment struct {
	Chapter     Chapter
	First, Last int // items, from First to before Last
	// Tries are the turns with which the segment begins, as places in the pod's turns: one, or several that tried the
	// same thing.
	Tries   []int
	Entries []Entry
	same    uint64
}

// Entry counts items of one step.
type Entry struct {
	Step        history.StepID
	Sub         uint32
	Failed      bool
	N           int
	First, Last int // items
}

// maxTries bounds how many turns a segment remembers one by one.
const maxTries = 200

// add adds the next item.
func (t *Segments) add(o *Outlines, p *Pod, i int) {
	it, c := p.Items.At(i), p.ChapterOf(i, t.until)
	seg := t.list.Last()
	if seg == nil || seg.Chapter != c || it.Turn != None {
		t.list.Add(Segment{Chapter: c, First: i, Last: i})
		seg = t.list.Last()
	}
	seg.Last = i + 1
	if it.Turn != None {
		seg.Tries = append(seg.Tries, it.Turn)
		return
	}
	step, failed := history.StepID(0), false
	if sp := o.h.Span(it.Span); sp != nil {
		step, failed = sp.Step, o.ItemFailed(it, t.until)
	}
	seg.count(step, it.Sub, failed, i)
}

// ItemFailed reports whether something in an item had failed at a position; zero
// means by now.
func (o *Outlines) ItemFailed(it *Item, at int) bool {
	sp := o.h.Span(it.Fault)
	return sp != nil && (at == 0 || sp.Over(at))
}

func (g *Segment) count(step history.StepID, sub uint32, failed bool, item int) {
	for k := range g.Entries {
		if e := &g.Entries[k]; step != 0 && e.Step == step && e.Sub == sub && e.Failed == failed {
			e.N++
			e.Last = max(e.Last, item)
			return
		}
	}
	g.Entries = append(g.Entries, Entry{Step: step, Sub: sub, Failed: failed, N: 1, First: item, Last: item})
}

// failed moves an item to the entry of items that failed.
func (t *Segments) failed(o *Outlines, p *Pod, i int) {
	it := p.Items.At(i)
	sp := o.h.Span(it.Span)
	seg := t.Of(i)
	if seg == nil || sp == nil {
		return
	}
	for k := range seg.Entries {
		if e := &seg.Entries[k]; e.Step == sp.Step && e.Sub == it.Sub && !e.Failed && (e.Step != 0 || e.First == i) {
			if e.N--; e.N == 0 {
				seg.Entries = append(seg.Entries[:k], seg.Entries[k+1:]...)
			} else {
				t.narrow(o, p, e)
			}
			break
		}
	}
	seg.count(sp.Step, it.Sub, true, i)
}

// narrow makes an entry begin and end with items that are still in it.
func (t *Segments) narrow(o *Outlines, p *Pod, e *Entry) {
	for e.First < e.Last && !t.has(o, p, e, e.First) {
		e.First++
	}
	for e.Last > e.First && !t.has(o, p, e, e.Last) {
		e.Last--
	}
}

// has reports whether an item that is no turn is counted by an entry.
func (t *Segments) has(o *Outlines, p *Pod, e *Entry, i int) bool {
	it := p.Items.At(i)
	if it == nil || it.Turn != None {
		return false
	}
	sp := o.h.Span(it.Span)
	return sp != nil && sp.Step == e.Step && it.Sub == e.Sub && o.ItemFailed(it, t.until) == e.Failed
}

// Of returns the segment that has an item, or nil.
func (t *Segments) Of(item int) *Segment {
	lo, hi := t.list.First, t.list.End()
	for lo < hi {
		if mid := (lo + hi) / 2; t.list.At(mid).Last <= item {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if g := t.list.At(lo); g != nil && g.First <= item {
		return g
	}
	return nil
}

// finish is called when a turn has ended. A turn in which nothing was done is counted in the segment before; one that
// tried the same thing joins that segment.
func (t *Segments) finish(o *Outlines, p *Pod, turn int) {
	tn, n := p.Turns.At(turn), t.list.End()-1
	seg, before := t.list.At(n), t.list.At(n-1)
	if tn == nil || seg == nil || len(seg.Tries) != 1 || seg.Tries[0] != turn {
		return
	}
	seg.same = tn.Same
	if before == nil || before.Chapter != seg.Chapter || len(before.Tries) == 0 {
		return
	}
	switch {
	case !tn.Eventful && tn.Kind <= Sync:
		before.count(o.turn, 0, false, tn.Item)
	case tn.Same != 0 && tn.Same == before.same:
		before.Tries = append(before.Tries, turn)
		if len(before.Tries) > maxTries {
			before.Tries = append(before.Tries[:1], before.Tries[2:]...)
		}
	default:
		return
	}
	before.Last = seg.Last
	for _, e := range seg.Entries {
		before.merge(e)
	}
	t.list.All = t.list.All[:len(t.list.All)-1]
}

func (g *Segment) merge(e Entry) {
	for k := range g.Entries {
		if o := &g.Entries[k]; e.Step != 0 && o.Step == e.Step && o.Sub == e.Sub && o.Failed == e.Failed {
			o.N += e.N
			o.Last = max(o.Last, e.Last)
			return
		}
	}
	g.Entries = append(g.Entries, e)
}

// rebuild makes the segments anew, from the one that has an item.
func (t *Segments) rebuild(o *Outlines, p *Pod, from int) {
	n := t.list.First
	for i := t.list.End() - 1; i >= n; i-- {
		if t.list.At(i).First <= from {
			n = i
			break
		}
	}
	if n >= t.list.End() {
		return
	}
	start := t.list.At(n).First
	t.list.All = t.list.All[:n-t.list.First]
	t.replay(o, p, start, p.Items.End())
	p.Revision++
}

// replay adds items one after the other, and the ends of turns in their places.
func (t *Segments) replay(o *Outlines, p *Pod, from, to int) {
	pending := None
	end := func(before int) {
		if tn := p.Turns.At(pending); tn != nil && tn.Done != None && tn.Done < before && (t.until == 0 || tn.Done < t.until) {
			t.finish(o, p, pending)
			pending = None
		}
	}
	for i := from; i < to; i++ {
		it := p.Items.At(i)
		if it == nil {
			continue
		}
		if t.until != 0 && it.Pos >= t.until {
			break
		}
		end(it.Pos)
		if it.Turn != None {
			pending = it.Turn
		}
		t.add(o, p, i)
	}
	end(1 << 62)
}

// forget drops segments of items that are forgotten.
func (t *Segments) forget(before int) {
	n := 0
	for n < len(t.list.All)-1 && t.list.All[n].Last <= before {
		n++
	}
	t.list.Forget(t.list.First + n)
}

// First and End return the places of the first segment that is kept, and after the last.
func (t *Segments) First() int { return t.list.First }
func (t *Segments) End() int   { return t.list.End() }

// At returns the segment at a place; nil: it is not kept.
func (t *Segments) At(i int) *Segment { return t.list.At(i) }

// before returns how many segments had begun at a position.
func (t *Segments) before(p *Pod, at int) int {
	lo, hi := t.list.First, t.list.End()
	for lo < hi {
		mid := (lo + hi) / 2
		if it := p.Items.At(t.list.At(mid).First); it != nil && it.Pos >= at {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// EndAt returns the place after the last segment that had begun at a position.
func (o *Outlines) EndAt(p *Pod, at int) int {
	if at >= o.h.End() {
		return p.Segments.End()
	}
	return p.Segments.before(p, at)
}

// As returns the segments from one place to before EndAt, as of a position. If the position is not the end, it makes
// the last two anew: where one ends and the next begins may have become known only later.
func (o *Outlines) As(p *Pod, from, at int) (out []*Segment) {
	t, to := &p.Segments, o.EndAt(p, at)
	sure := to
	if at < o.h.End() {
		sure = max(from, to-2)
		if !o.h.Knows(at).Turns || !o.h.Knows(o.h.End()).Turns {
			sure = from // a segment is a whole chapter there, and may not have begun yet
		}
	}
	for i := from; i < sure; i++ {
		out = append(out, t.At(i))
	}
	if sure == to {
		return out
	}
	part := Segments{until: at}
	part.replay(o, p, t.At(sure).First, p.Items.End())
	for k := range part.list.All {
		out = append(out, &part.list.All[k])
	}
	return out
}
