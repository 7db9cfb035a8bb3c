package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/tui/screen"
)

// maxParts bounds the calls of a fold that are drawn. maxLook bounds the items in which they are searched, the
// newest first.
const maxParts, maxLook = 200, 2000

// foldBar gives a bar a part for each call of a fold. The time between the calls is not the fold's. So a fold is not
// drawn as one bar, and is not on the critical path.
func (s *State) foldBar(p *pod, n *line, b *screen.Bar, v *view) {
	if n.times > 1 {
		b.Label += fmt.Sprintf("  ×%d", n.times)
	}
	for _, ref := range s.foldCalls(p, n, v.at) {
		sp := s.h.Span(ref)
		from := time.Duration(sp.Start)
		b.Parts = append(b.Parts, screen.Part{From: from, To: from + sp.Took(v.at, v.now)})
		b.Open = b.Open || !sp.Over(v.at)
	}
	if len(b.Parts) == 0 {
		if it := p.Items.At(n.item); it != nil {
			b.From = time.Duration(s.h.TimeAt(it.Pos))
		}
		b.To = b.From
		return
	}
	b.From = b.Parts[0].From
	for _, part := range b.Parts {
		b.From, b.To = min(b.From, part.From), max(b.To, part.To)
	}
}

// foldCalls returns the calls in a fold, oldest first.
func (s *State) foldCalls(p *pod, n *line, at int) (calls []int) {
	g, l := p.Segments.Of(n.item), layouter{s: s, p: p, at: at}
	if g == nil {
		return nil
	}
	last := n.last
	if n.key.kind == keyFold {
		if t := p.Turns.At(n.last); t != nil {
			last = t.Item
		}
	}
	for i := last; i >= n.item && last-i < maxLook && len(calls) < maxParts; i-- {
		it := p.Items.At(i)
		if it == nil {
			break
		}
		ref := it.Span
		if t := p.Turns.At(it.Turn); t != nil {
			ref = t.Span
		}
		if sp := s.h.Span(ref); sp != nil && sp.Enter < at && l.inFold(g, n, it) {
			calls = append(calls, ref)
		}
	}
	slices.Reverse(calls)
	return calls
}

// inFold reports whether a fold of a segment counts an item.
func (l *layouter) inFold(g *outline.Segment, n *line, it *outline.Item) bool {
	if n.key.kind == keyFold {
		return slices.Contains(g.Tries, it.Turn)
	}
	for i := range g.Entries {
		e := &g.Entries[i]
		if (n.key.kind == l.s.foldOf(l.p, g, e, l.at) || n.key == entryKey(e)) && l.belongs(g, it, e) {
			return true
		}
	}
	return false
}
