package state

import (
	"fmt"
	"slices"
	"time"
)

// maxParts bounds the calls of a fold that are drawn, and maxLook the items
// that are looked through for them: the newest.
const maxParts, maxLook = 200, 2000

// foldBar has a part for each call of a fold. What lies between them is not the
// fold's time, so it is neither one bar nor on the critical path.
func (s *State) foldBar(p *pod, n *line, b *Bar, v *view) {
	if n.times > 1 {
		b.Label += fmt.Sprintf("  ×%d", n.times)
	}
	for _, ref := range s.foldCalls(p, n, v.at) {
		sp := s.spans.at(ref)
		from := time.Duration(sp.start)
		b.Parts = append(b.Parts, Part{From: from, To: from + s.callTook(sp, v)})
		b.Open = b.Open || !sp.over(v.at)
	}
	if len(b.Parts) == 0 {
		if it := p.items.at(n.item); it != nil {
			b.From = time.Duration(s.timeAt(it.pos))
		}
		b.To = b.From
		return
	}
	b.From = b.Parts[0].From
	for _, part := range b.Parts {
		b.From, b.To = min(b.From, part.From), max(b.To, part.To)
	}
}

// foldCalls are the calls that a fold stands for, oldest first.
func (s *State) foldCalls(p *pod, n *line, at int) (calls []int) {
	g, l := p.tale.segmentOf(n.item), layouter{s: s, p: p, at: at}
	if g == nil {
		return nil
	}
	last := n.last
	if n.key.kind == keyFold {
		if t := p.turns.at(n.last); t != nil {
			last = t.item
		}
	}
	for i := last; i >= n.item && last-i < maxLook && len(calls) < maxParts; i-- {
		it := p.items.at(i)
		if it == nil {
			break
		}
		ref := it.span
		if t := p.turns.at(it.turn); t != nil {
			ref = t.span
		}
		if sp := s.spans.at(ref); sp != nil && sp.enter < at && l.inFold(g, n, it) {
			calls = append(calls, ref)
		}
	}
	slices.Reverse(calls)
	return calls
}

// inFold tells whether an item is one of those that a fold of a segment counts.
func (l *layouter) inFold(g *segment, n *line, it *item) bool {
	if n.key.kind == keyFold {
		return slices.Contains(g.tries, it.turn)
	}
	for i := range g.entries {
		e := &g.entries[i]
		if (n.key.kind == l.s.foldOf(l.p, e, l.at) || n.key == e.key()) && l.belongs(g, it, e) {
			return true
		}
	}
	return false
}
