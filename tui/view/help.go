package view

import "github.com/podstep/podstep/tui/screen"

// helpColumns returns how many columns of keys fit into a width.
func helpColumns(w int) int {
	if w >= 84 {
		return 2
	}
	return 1
}

// helpLine is a line of the help page: an item, a heading, or a blank.
type helpLine struct {
	heading string
	item    int // -1 for none
}

func (l helpLine) blank() bool { return l.item < 0 && l.heading == "" }

// help lists the keys by groups, in columns if there is room.
func (f *frame) help(o *screen.Overlay) {
	w := overWidth(o.Kind, f.st)
	lines := helpLines(o)
	columns := helpColumns(w)
	h := min(overRoom(f.st).H-2, (len(lines)+columns-1)/columns+5)
	r := f.box(w, h, o.Title, o.Danger)
	r = f.search(r, o.Input)
	if r.H > 6 {
		f.whyOff(r.line(r.H-1), o)
		r.H -= 2
	}
	if r.H < 1 {
		return
	}
	cursor := 0
	for i, l := range lines {
		if l.item == o.Cursor {
			cursor = i
		}
	}
	from, to := window(len(lines), cursor, columns*r.H)
	each := (r.W - 4*(columns-1)) / columns
	column, y := 0, 0
	for i := from; i < to; i++ {
		if y == 0 && lines[i].blank() {
			continue
		}
		line := Rect{r.X + column*(each+4), r.Y + y, each, 1}
		if l := lines[i]; l.item >= 0 {
			f.item(line, o, l.item, false)
		} else {
			f.put(line, l.heading, inkAccent)
		}
		if y++; y == r.H {
			column, y = column+1, 0
		}
	}
	f.thumb(r.inset(0, 0, -1, 0), o.Top+from, to-from, max(o.Top+len(lines), o.Total))
}

// whyOff says why the chosen item does nothing now.
func (f *frame) whyOff(line Rect, o *screen.Overlay) {
	if o.Cursor < 0 || o.Cursor >= len(o.Items) {
		return
	}
	if it := o.Items[o.Cursor]; it.Off != "" {
		f.put(line, it.Text+f.text(wordColon)+it.Off, inkWarn)
	}
}

// helpLines puts a heading before each group, and a blank before a heading.
func helpLines(o *screen.Overlay) []helpLine {
	var lines []helpLine
	group := ""
	for i, it := range o.Items {
		if it.Group != group {
			if len(lines) > 0 {
				lines = append(lines, helpLine{item: -1})
			}
			lines = append(lines, helpLine{it.Group, -1})
			group = it.Group
		}
		lines = append(lines, helpLine{item: i})
	}
	return lines
}
