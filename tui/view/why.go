package view

import (
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

func init() {
	addMain(mainPane{main: screen.MainWhy, place: 4, name: screen.WhyName, draw: (*frame).causes, table: true})
}

// causes draws why a pod is where it is. An item may take several lines.
func (f *frame) causes(r Rect) {
	c := f.s.Causes()
	right := ""
	if c != nil && c.Asking {
		right = f.text(wordAsking)
	}
	f.title(r, screen.PaneMain, f.text(screen.WhyName), right)
	r = r.inset(0, 1, 0, 0)
	if c == nil {
		return
	}
	if len(c.Items) == 0 {
		f.empty(r, c.Empty)
		return
	}
	blocks := make([][]rich, len(c.Items))
	for i := range c.Items {
		blocks[i] = f.causeLines(&c.Items[i], i > 0, r.W-4)
	}
	y := 0
	for i := causesFrom(blocks, c.Cursor, r.H); i < len(blocks) && y < r.H; i++ {
		f.cause(Rect{r.X, r.Y + y, r.W, min(len(blocks[i]), r.H-y)}, blocks[i], i == c.Cursor)
		y += len(blocks[i])
	}
}

// causesFrom returns the first item to draw so that the selected one is seen.
func causesFrom(blocks [][]rich, cursor, h int) int {
	from, used := 0, 0
	for i := 0; i <= cursor && i < len(blocks); i++ {
		used += len(blocks[i])
		for used > h && from < i {
			used -= len(blocks[from])
			from++
		}
	}
	return from
}

func (f *frame) cause(r Rect, lines []rich, selected bool) {
	for i := range r.H {
		ground := onNothing
		if selected {
			ground = f.gutter(r.line(i), screen.PaneMain, onNothing)
		}
		f.rich(r.line(i).inset(1, 0, 2, 0), lines[i], ground)
	}
}

// labelWidth is the width of the column of labels.
const labelWidth = 11

// causeLines returns the lines of an item. A title has an empty line before it.
func (f *frame) causeLines(c *screen.CauseItem, gap bool, w int) []rich {
	switch c.Kind {
	case screen.CauseTitle:
		lines := wrapped(c.Text, w-width(c.Aside)-2, 0, inkStrong)
		if c.Aside != "" {
			lines[0] = append(lines[0], span{"  " + c.Aside, inkMuted})
		}
		if gap {
			lines = append([]rich{nil}, lines...)
		}
		return lines
	case screen.CauseText:
		return wrapped(c.Text, min(w, 96), 0, inkPlain)
	case screen.CauseCommand:
		return wrapped(strings.Repeat(" ", labelWidth)+c.Text, w, labelWidth+2, inkAccent)
	}
	return f.labelled(c, w)
}

// labelled returns the lines of an item, with a label before them.
func (f *frame) labelled(c *screen.CauseItem, w int) []rich {
	k := inkPlain
	if c.Kind == screen.CauseNote {
		k = inkMuted
	}
	if c.Label == "" {
		return wrapped(c.Text, min(w, 96), 0, k)
	}
	indent := labelWidth
	if w < 50 {
		indent = 2
	}
	var lines []rich
	text := wrap(c.Text, max(8, min(w, 120)-indent))
	if indent < labelWidth || width(c.Label) >= labelWidth {
		lines = append(lines, rich{{c.Label, inkField}})
		for _, l := range text {
			lines = append(lines, rich{{strings.Repeat(" ", indent), k}, {l, k}})
		}
	} else {
		for i, l := range text {
			head := strings.Repeat(" ", labelWidth)
			if i == 0 {
				head = c.Label + strings.Repeat(" ", labelWidth-width(c.Label))
			}
			lines = append(lines, rich{{head, inkField}, {l, k}})
		}
	}
	aside := rich{}
	if c.Aside != "" {
		aside = append(aside, span{"  " + c.Aside, inkFaint})
	}
	if c.Goes != "" {
		aside = append(aside, span{"  " + f.m.pointer, inkAccent})
	}
	return f.withAside(lines, aside, w)
}

// withAside adds an aside behind a text: in its last line, or below it if there is no room.
func (f *frame) withAside(lines []rich, aside rich, w int) []rich {
	last := len(lines) - 1
	if richWidth(lines[last])+richWidth(aside) > w {
		return append(lines, append(rich{{strings.Repeat(" ", labelWidth-2), inkPlain}}, aside...))
	}
	lines[last] = append(lines[last], aside...)
	return lines
}

func richWidth(line rich) (n int) {
	for _, s := range line {
		n += width(s.text)
	}
	return n
}
