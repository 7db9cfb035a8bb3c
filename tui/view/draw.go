package view

import (
	"fmt"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// Draw returns the screen as text: as many lines as the styles are high, none wider than they are wide.
func Draw(s *screen.Screen, st *Styles) string {
	return drawn(s, st).c.text(st.inks)
}

// Cursor returns the place of the cursor in the line that is being typed, if there is one. A terminal shows there
// what an input method is about to enter.
func Cursor(s *screen.Screen, st *Styles) (x, y int, ok bool) {
	f := drawn(s, st)
	return f.cursor.X, f.cursor.Y, !f.cursor.empty()
}

// frame is one screen while it is drawn.
type frame struct {
	s      *screen.Screen
	st     *Styles
	m      *marks
	lay    Layout
	c      *canvas
	zones  []zone
	cursor Rect
}

func drawn(s *screen.Screen, st *Styles) *frame {
	f := &frame{
		s: s, st: st, m: st.m, c: newCanvas(st.Width, st.Height),
		lay: Arrange(st.Width, st.Height, ArrangementOf(s)),
	}
	if st.Glyphs == ASCII {
		f.c.plain = plainSigns
	}
	if f.lay.Tiny {
		f.tiny()
	} else {
		f.screen()
	}
	if s.Over != nil {
		f.over()
	}
	return f
}

func (f *frame) screen() {
	f.rules()
	f.header()
	f.crumbs()
	f.scrub()
	f.hold()
	f.pods(f.lay.Pods)
	f.main(f.lay.Main)
	f.detail(f.lay.Detail)
	f.markFound()
	f.tour(f.lay.Tour)
	f.why()
	f.foot()
}

// text returns a word in the reader's language.
func (f *frame) text(t probes.Text) string { return f.s.Lang.In(t) }

// textf returns a phrase in the reader's language, with a value in its place.
func (f *frame) textf(t probes.Text, a any) string { return fmt.Sprintf(f.text(t), a) }

// put writes text into a line, cut to the line, and returns the place after it.
func (f *frame) put(line Rect, text string, k ink) int {
	return f.c.put(line, line.X, line.Y, fit(text, line.W, f.m.ellipsis), k)
}

// putRight writes text at the end of a line, and returns the rest of the line, two blanks before the text. It does
// not write text that leaves less than keep cells.
func (f *frame) putRight(line Rect, text string, k ink, keep int) Rect {
	w := width(text)
	if w == 0 || line.W-w-2 < keep {
		return line
	}
	f.c.put(line, line.right()-w, line.Y, text, k)
	line.W -= w + 2
	return line
}

// restFrom returns the rest of a line from x on.
func restFrom(line Rect, x int) Rect {
	return Rect{x, line.Y, max(0, line.right()-x), 1}
}

// rules draws the thin lines, joined where they meet.
func (f *frame) rules() {
	for _, r := range f.lay.Rules {
		for y := r.Y; y < r.bottom(); y++ {
			for x := r.X; x < r.right(); x++ {
				f.c.put(r, x, y, f.ruleAt(x, y), inkLine)
			}
		}
	}
	if !f.lay.Divider.empty() {
		f.zone(f.lay.Divider, Target{Kind: OnDivider})
	}
}

// ruleAt returns the piece of line at a place, by the lines around it.
func (f *frame) ruleAt(x, y int) string {
	const up, down, left, right = 1, 2, 4, 8
	joins := 0
	for _, r := range f.lay.Rules {
		if r.W == 1 { // upright
			if r.has(x, y-1) {
				joins |= up
			}
			if r.has(x, y+1) {
				joins |= down
			}
		} else {
			if r.has(x-1, y) {
				joins |= left
			}
			if r.has(x+1, y) {
				joins |= right
			}
		}
	}
	switch {
	case joins == up|down|left|right:
		return f.m.cross
	case joins&(left|right) == left|right && joins&down != 0:
		return f.m.teeDown
	case joins&(left|right) == left|right && joins&up != 0:
		return f.m.teeUp
	case joins&(up|down) == up|down && joins&right != 0:
		return f.m.teeRight
	case joins&(up|down) == up|down && joins&left != 0:
		return f.m.teeLeft
	case joins&(left|right) != 0:
		return f.m.lineH
	}
	return f.m.lineV
}

// title writes the first line of a pane, and returns the room below it. The title of the pane that has the keys is
// lit.
func (f *frame) title(r Rect, pane screen.Pane, left, right string) Rect {
	return f.titleNew(r, pane, left, right, 0)
}

// titleNew writes a title that also says how many events have come since the pane was scrolled or frozen.
func (f *frame) titleNew(r Rect, pane screen.Pane, left, right string, newer int) Rect {
	line := r.line(0).inset(1, 0, 1, 0)
	k := inkStrong
	if f.s.Focus == pane && f.s.Over == nil {
		k = inkTitle
	}
	if newer > 0 {
		chip := " " + f.m.down + " " + thousands(newer) + " " + f.text(wordNew) + " "
		line = f.putRight(line, chip, inkAccentChip, 8)
	}
	line = f.finding(line, pane)
	line = f.putRight(line, right, inkMuted, min(12, width(left)))
	f.put(line, left, k)
	return r.inset(0, f.lay.titleHeight(r), 0, 0)
}

// gutter marks the selected row, and lays a ground under it if its pane has the keys. It returns that ground.
func (f *frame) gutter(line Rect, pane screen.Pane, ground ink) ink {
	glyph, k := f.m.cursorOff, inkMuted
	if f.s.Focus == pane {
		glyph, k = f.m.cursor, inkAccent
		if ground == onNothing {
			ground = onSelected
		}
	}
	f.c.fill(line, inkPlain.on(ground))
	f.c.put(line, line.X, line.Y, glyph, f.markInk(k, ground))
	return ground
}

// markInk returns the ink of a mark at the edge of a lit line. On a reversed line the mark gets no ground, so that
// it can be seen.
func (f *frame) markInk(k, ground ink) ink {
	if f.st.reversed(ground) {
		return k
	}
	return k.on(ground)
}

// window returns which of n rows are shown in h lines, so that the selected one is seen with some rows behind it:
// from the first row on, or as far down as needed.
func window(n, cursor, h int) (from, to int) {
	if n > h {
		from = min(max(0, cursor-h+1+min(3, h/3)), n-h)
	}
	return from, min(n, from+h)
}

// thumb draws, at the right edge, where the shown rows are in the whole list.
func (f *frame) thumb(r Rect, top, shown, total int) {
	if total <= shown || r.H < 3 || shown <= 0 {
		return
	}
	size := max(1, r.H*shown/total)
	at := 0
	if total > shown {
		at = (r.H - size) * min(top, total-shown) / (total - shown)
	}
	for i := range size {
		f.c.put(r, r.right()-1, r.Y+at+i, f.m.thumb, inkLine)
	}
}

// empty says in the middle of a pane why the pane is empty.
func (f *frame) empty(r Rect, text string) {
	lines := wrap(text, min(56, r.W-4))
	y := max(0, (r.H-len(lines))/3)
	for i, l := range lines {
		if y+i < r.H {
			line := r.line(y + i)
			f.put(line.inset(max(0, (r.W-width(l))/2), 0, 0, 0), l, inkMuted)
		}
	}
}
