package view

import (
	"fmt"
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

// finding writes into the title of the pane that has the keys: the text that is looked for there, how many rows have
// it, and which of them is selected.
func (f *frame) finding(line Rect, pane screen.Pane) Rect {
	s := f.s.Finding
	if s == nil || pane != f.s.Focus {
		return line
	}
	count := f.textf(wordFound, s.N)
	if s.K > 0 {
		count = fmt.Sprintf(f.text(wordFoundOf), s.K, s.N)
	}
	if s.More {
		count += "+"
	}
	if long := fmt.Sprintf(" %q %s ", s.Text, count); width(long) < line.W/2 {
		return f.putRight(line, long, inkAccentChip, 6)
	}
	return f.putRight(line, " "+count+" ", inkAccentChip, 2)
}

// markFound lights the text that is looked for, wherever it is seen in the pane that has the keys, below the pane's
// title.
func (f *frame) markFound() {
	if f.s.Finding == nil || f.s.Finding.Text == "" {
		return
	}
	r := f.lay.Main
	switch f.s.Focus {
	case screen.PanePods:
		r = f.lay.Pods
	case screen.PaneDetail:
		r = f.lay.Detail
	}
	for y := r.Y + 1; y < r.bottom(); y++ {
		f.c.markText(Rect{r.X, y, r.W, 1}, strings.ToLower(f.s.Finding.Text), inkMatch)
	}
}

// markText gives the ink of a role to a text wherever it is in a line, and keeps the ground.
func (c *canvas) markText(line Rect, text string, k ink) {
	if line.empty() || line.X >= c.w || line.Y >= c.h {
		return // a screen of a few cells has no room for it
	}
	cells := c.cells[line.Y*c.w+line.X : line.Y*c.w+min(line.right(), c.w)]
	var lower strings.Builder
	at := make([]int, 0, len(cells)) // the cell of each byte of lower
	for i, cell := range cells {
		for range lowered(cell.text) {
			at = append(at, i)
		}
		lower.WriteString(string(lowered(cell.text)))
	}
	row := lower.String()
	for from := 0; ; {
		i := strings.Index(row[from:], text)
		if i < 0 {
			return
		}
		from += i
		for _, cell := range at[from : from+len(text)] {
			ground := cells[cell].ink - cells[cell].ink.role()
			cells[cell].ink = k.on(ground)
		}
		from += len(text)
	}
}

// lowered returns a text in lower case, as bytes.
func lowered(s string) []byte { return []byte(strings.ToLower(s)) }
