package view

import (
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

// over draws what is on top of the screen: a box in the middle, as large as its content. The parts beneath lose
// their colours, but a hold stays lit.
func (f *frame) over() {
	for i := range f.c.cells {
		if y := i / f.c.w; f.lay.Hold.empty() || y != f.lay.Hold.Y {
			f.c.cells[i].ink = inkUnder
		}
	}
	f.cursor = Rect{}
	f.zones = nil
	f.zone(f.c.all(), Target{Kind: OnOutside})
	switch o := f.s.Over; o.Kind {
	case screen.OverDialog:
		f.dialog(o)
	case screen.OverPage:
		f.page(o)
	case screen.OverHelp:
		f.help(o)
	case screen.OverStack:
		f.stack(o)
	default:
		f.palette(o)
	}
}

// OverRows returns how many lines of an overlay's list or text fit.
func OverRows(kind screen.OverlayKind, st *Styles) int {
	room := overRoom(st).H - 2
	if kind == screen.OverPage || kind == screen.OverDialog {
		return max(1, room)
	}
	room -= 2 // the line to search by
	if kind == screen.OverHelp {
		room -= 2 // why the chosen one is off
	}
	switch {
	case kind == screen.OverHelp && helpColumns(overWidth(kind, st)) == 2:
		return max(1, 2*room)
	case kind == screen.OverHelp:
		return max(1, room)
	}
	return max(1, min(18, room))
}

// OverText breaks the lines of a page so that they fit.
func OverText(lines []string, st *Styles) []string {
	var all []string
	for _, l := range lines {
		all = append(all, wrap(l, overWidth(screen.OverPage, st))...)
	}
	return all
}

// OverPageWidth returns how wide a line of a page can be.
func OverPageWidth(st *Styles) int { return overWidth(screen.OverPage, st) }

// overRoom returns the room for boxes: below the header and the line of a hold, which stays visible.
func overRoom(st *Styles) Rect {
	all := Rect{0, 0, st.Width, st.Height}
	switch {
	case st.Height >= crumbsHeight:
		return all.inset(0, 4, 0, 2)
	case st.Height >= 16:
		return all.inset(0, 2, 0, 1)
	case st.Height >= 5:
		return all.inset(0, 2, 0, 0)
	}
	return all
}

// boxPadding returns how many cells are left free within the sides of a box.
func boxPadding(width int) int {
	if width < 60 {
		return 1
	}
	return 2
}

// overWidth returns the width of the inside of a box.
func overWidth(kind screen.OverlayKind, st *Styles) int {
	room := st.Width - 2 - 2*boxPadding(st.Width)
	if st.Width >= 60 {
		room -= 4
	}
	most := 70
	switch kind {
	case screen.OverDialog:
		most = 60
	case screen.OverPage, screen.OverStack:
		most = 88
	case screen.OverHelp:
		most = 104
	}
	return max(1, min(most, room))
}

// box draws a frame around w x h cells, in the middle of the room or a little above it, and returns the inside.
func (f *frame) box(w, h int, title string, danger bool) Rect {
	pad := boxPadding(f.c.w)
	room := overRoom(f.st)
	outer := Rect{0, 0, min(w+2+2*pad, room.W), min(h+2, room.H)}
	outer.X = (room.W - outer.W) / 2
	outer.Y = room.Y + (room.H-outer.H)*2/5
	f.c.clear(outer.inset(-1, 0, -1, 0))
	f.zone(outer, Target{Kind: OnOver})
	line, name := inkMuted, inkTitle
	if danger {
		line, name = inkFailed, inkFailed
		title = f.m.stuck + " " + title
	}
	f.border(outer, line)
	top := outer.line(0).inset(pad, 0, pad, 0)
	if title != "" {
		f.put(top, " "+fit(title, top.W-2, f.m.ellipsis)+" ", name)
	}
	return outer.inset(1+pad, 1, 1+pad, 1)
}

func (f *frame) border(r Rect, k ink) {
	across := strings.Repeat(f.m.lineH, max(0, r.W-2))
	f.c.put(r, r.X, r.Y, f.m.cornerTL+across+f.m.cornerTR, k)
	f.c.put(r, r.X, r.bottom()-1, f.m.cornerBL+across+f.m.cornerBR, k)
	for y := r.Y + 1; y < r.bottom()-1; y++ {
		f.c.put(r, r.X, y, f.m.lineV, k)
		f.c.put(r, r.right()-1, y, f.m.lineV, k)
	}
}

// page draws text to read.
func (f *frame) page(o *screen.Overlay) {
	w := overWidth(screen.OverPage, f.st)
	var lines []string
	for _, t := range o.Text {
		lines = append(lines, wrap(t, w)...)
	}
	h := min(len(lines), OverRows(screen.OverPage, f.st))
	title := o.Title
	if o.Found != "" {
		title += " " + f.m.dot + " " + f.textf(wordFound, o.Matches)
	}
	r := f.box(w, h, title, o.Danger)
	for i := range min(h, r.H) {
		f.put(r.line(i), lines[i], inkPlain)
		f.c.markText(r.line(i), glyphSets[Unicode].barSlow, inkWarn)
		if o.Found != "" {
			f.c.markText(r.line(i), o.Found, inkMatch)
		}
	}
	f.thumb(r.inset(0, 0, -1, 0), o.Top, h, max(o.Total, len(lines)))
}

// CompareBars returns the signs of the bars of a comparison: of the pod that took longer, of the other one, and between
// both.
func CompareBars(s *Styles) (slow, fast, axis string) { return s.m.barSlow, s.m.barFast, s.m.lineV }

// search draws the line in which a person searches a list, and returns the room for the list.
func (f *frame) search(r Rect, in *screen.Input) Rect {
	if in == nil {
		return r
	}
	f.input(r.line(0), in)
	if r.H > 8 {
		f.c.repeat(r, r.X, r.Y+1, r.W, f.m.lineH, inkLine)
		return r.inset(0, 2, 0, 0)
	}
	return r.inset(0, 1, 0, 0)
}

// palette draws a list to choose from: the name of each item, and its key at the right.
func (f *frame) palette(o *screen.Overlay) {
	rows := min(OverRows(o.Kind, f.st), max(len(o.Items), o.Total, 1))
	extra := 0
	if o.Input != nil {
		extra = 2
	}
	if n := len(o.Text); n > 0 {
		extra += n + 1
	}
	r := f.box(overWidth(o.Kind, f.st), rows+extra, o.Title, o.Danger)
	r = f.search(r, o.Input)
	for _, t := range o.Text {
		f.put(r.line(0), t, inkMuted)
		r = r.inset(0, 1, 0, 0)
	}
	if len(o.Items) == 0 && o.Input != nil {
		f.put(r.line(0), f.text(wordNoMatch), inkMuted)
	}
	from, to := window(len(o.Items), o.Cursor, r.H)
	for i := from; i < to; i++ {
		f.item(r.line(i-from), o, i, true)
	}
	f.thumb(r.inset(0, 0, -1, 0), o.Top+from, to-from, o.Total)
}

// item draws one line of a list.
func (f *frame) item(line Rect, o *screen.Overlay, i int, group bool) {
	it := &o.Items[i]
	ground := f.chosen(line, i == o.Cursor)
	f.zone(line, Target{Kind: OnItem, Index: i})
	text, key := inkPlain, inkKey
	if it.Off != "" {
		text, key = inkFaint, inkFaint
	}
	rest := f.putRight(line, it.Key, key.on(ground), 12)
	room := width(it.Group) + 4
	if it.Off != "" {
		room += 20
	}
	if group && it.Group != "" && rest.W-width(it.Text) > room {
		rest = f.putRight(rest, it.Group, inkFaint.on(ground), 12)
	}
	x := f.matched(rest, it, text, ground)
	if off := restFrom(rest, x+2); it.Off != "" && off.W >= 12 {
		f.put(off, it.Off, inkFaint.on(ground))
	}
}

// chosen lays a ground under the line that is chosen, and marks it in the margin.
func (f *frame) chosen(line Rect, is bool) ink {
	if !is {
		return onNothing
	}
	wide := line.inset(-1, 0, -1, 0)
	f.c.fill(wide, inkPlain.on(onSelected))
	f.c.put(wide, wide.X, wide.Y, f.m.cursor, f.markInk(inkAccent, onSelected))
	return onSelected
}

// matched writes the text of an item, and lights the letters that were typed.
func (f *frame) matched(line Rect, it *screen.Item, k, ground ink) int {
	x := f.put(line, it.Text, k.on(ground))
	if len(it.Match) == 0 || width(it.Text) > line.W {
		return x
	}
	at, next := line.X, 0
	for i, c := range []rune(it.Text) {
		w := width(string(c))
		if next < len(it.Match) && it.Match[next] == i {
			f.c.put(line, at, line.Y, string(c), inkMatch.on(ground))
			next++
		}
		at += w
	}
	return x
}
