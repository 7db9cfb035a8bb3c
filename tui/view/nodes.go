package view

import "github.com/podstep/podstep/tui/screen"

// NodesRows returns how many rows of the list of nodes fit.
func NodesRows(st *Styles) int { return max(0, st.Height-2) }

// DrawNodes returns the list of the pods of several nodes as text, in the size that Draw has.
func DrawNodes(n *screen.Nodes, st *Styles) string { return drawnNodes(n, st).c.text(st.inks) }

// HitNodes returns the target at a place of the list. For a row of it, or of what is on top, that is OnItem.
func HitNodes(n *screen.Nodes, st *Styles, x, y int) (Target, bool) {
	return drawnNodes(n, st).hit(x, y)
}

func drawnNodes(n *screen.Nodes, st *Styles) *frame {
	f := &frame{
		s:  &screen.Screen{Lang: n.Lang, Focus: screen.PanePods, Input: n.Input, Notice: n.Notice, Hints: n.Hints, Over: n.Over},
		st: st, m: st.m, c: newCanvas(st.Width, st.Height),
	}
	if st.Glyphs == ASCII {
		f.c.plain = plainSigns
	}
	all := f.c.all()
	f.put(all.line(0).inset(1, 0, 1, 0), n.Title, inkTitle)
	if all.H > 1 {
		f.lay.Why, f.lay.Foot = all.line(all.H-2), all.line(all.H-1)
		f.foot()
	}
	list := all.inset(0, 1, 0, 1)
	if f.s.Notice != nil && list.H > 0 {
		list.H-- // the notice may need the line
	}
	for i := range n.Rows[:min(len(n.Rows), max(0, list.H))] {
		f.zone(list.line(i), Target{Kind: OnItem, Index: i})
		f.nodesRow(list.line(i), &n.Rows[i], i == n.Cursor)
	}
	if n.Empty != "" && list.H > len(n.Rows)+1 {
		f.empty(list.inset(0, len(n.Rows)+1, 0, 0), n.Empty)
	}
	f.thumb(list, n.Top, min(len(n.Rows), list.H), n.Total)
	if n.Over != nil {
		f.zones = nil // only what is on top takes clicks
		f.over()
	}
	return f
}

func (f *frame) nodesRow(line Rect, r *screen.NodesRow, selected bool) {
	ground := onNothing
	if selected {
		ground = f.gutter(line, screen.PanePods, ground)
	}
	line = line.inset(1, 0, 2, 0)
	if r.Head {
		f.nodesHead(line, r, ground)
		return
	}
	glyph, mark := f.m.pod(r.Mark)
	name, word := inkPlain, mark
	if r.Stale {
		glyph, mark, name, word = f.m.unseen, inkFaint, inkMuted, inkFaint
	}
	if selected {
		name = inkStrong
	}
	line = line.inset(2, 0, 0, 0)
	f.put(line, glyph, mark.on(ground))
	f.nodesText(line.inset(2, 0, 0, 0), r, name.on(ground), word.on(ground))
}

func (f *frame) nodesHead(line Rect, r *screen.NodesRow, ground ink) {
	glyph, k, word := f.m.open, inkTitle, inkMuted
	if r.Bad {
		glyph, k, word = f.m.failed, inkFailedText, inkFailedText
	}
	f.put(line, glyph, k.on(ground))
	f.nodesText(line.inset(2, 0, 0, 0), r, k.on(ground), word.on(ground))
}

// nodesText writes a row's name, what stands behind it, and its state at the end.
func (f *frame) nodesText(line Rect, r *screen.NodesRow, name, word ink) {
	line = f.putRight(line, r.State, word, 12)
	x := f.put(line, fitMiddle(r.Name, line.W, f.m.ellipsis), name)
	where := word
	if !r.Bad {
		where = inkFaint.on(name - name.role())
	}
	if rest := restFrom(line, x+2); r.Where != "" && rest.W > 8 {
		f.put(rest, r.Where, where)
	}
}
