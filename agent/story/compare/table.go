package compare

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes/words"
)

// Look says how a table looks: how wide it is, how many lines of each kind it has at most, and the signs of its bars: of
// the pod that took longer, of the other one, and between both.
type Look struct {
	Width, Most      int
	Slow, Fast, Axis string
}

// Row is a line of a table.
type Row struct {
	Text string
	// At a Marked row the stories differ.
	Heading, Marked bool
}

// The widths of the columns: a value, how much more, the least for what a row is about and its usual width, and
// the least for a bar. If there is less room, there are no bars; if there is still less, what a row is about has a line
// of its own.
const (
	valueWidth = 10
	moreWidth  = 9
	whatLeast  = 20
	whatUsual  = 26
	barLeast   = 4
	barMost    = 24
)

// Table returns the comparison as a table: where the time went, as bars to both sides of an axis, and the steps in
// which the stories differ.
func (r *Result) Table(l words.Lang, look Look) (out []Row) {
	t := newTable(look)
	a, b := r.Names()
	lines := r.Lines(l, look.Most)
	for i := range lines {
		t.longest = max(t.longest, lines[i].TookA, lines[i].TookB)
	}
	for i := range lines {
		line := &lines[i]
		switch {
		case line.Heading && i > 0:
			out = append(out, Row{})
			fallthrough
		case line.Heading:
			line.A, line.B = a, b
		case line.Marked:
			line.What = "> " + strings.TrimPrefix(line.What, "  ")
		}
		for _, text := range t.row(line) {
			out = append(out, Row{text, line.Heading, line.Marked})
		}
	}
	return out
}

// table is a table that is drawn.
type table struct {
	Look
	what, bar int
	longest   time.Duration
}

func newTable(look Look) *table {
	t := &table{Look: look}
	room := look.Width - 2*(valueWidth+1) - moreWidth - 1
	t.bar = min((room-whatUsual-2)/2, barMost)
	if t.bar < barLeast {
		t.bar = 0
	}
	if t.what = room; t.bar > 0 {
		t.what = room - 2*t.bar - 3
	}
	return t
}

// row returns the lines of a row: usually one.
func (t *table) row(l *Line) []string {
	switch {
	case l.A == "" && l.B == "" && l.Other == "":
		return []string{strings.TrimRight(ansi.Truncate(l.What, t.Width, "..."), " ")}
	case t.what < whatLeast:
		return []string{l.What, "  " + strings.TrimSpace(Cell(l.A, valueWidth)+" "+Cell(l.B, valueWidth)+" "+l.Other)}
	case t.bar == 0:
		return []string{trimmed(Cell(l.What, t.what), Cell(l.A, valueWidth), Cell(l.B, valueWidth), l.Other)}
	}
	left, right, axis := "", "", " "
	if l.TookA+l.TookB > 0 {
		left, right, axis = t.cells(l.TookA, l.TookB), t.cells(l.TookB, l.TookA), t.Axis
	}
	pad := strings.Repeat(" ", t.bar-ansi.StringWidth(left))
	return []string{trimmed(Cell(l.What, t.what), right10(l.A), pad+left+axis+Cell(right, t.bar), Cell(l.B, valueWidth), l.Other)}
}

func trimmed(columns ...string) string { return strings.TrimRight(strings.Join(columns, " "), " ") }

// right10 writes a value at the right of its column.
func right10(s string) string {
	s = ansi.Truncate(s, valueWidth, "...")
	return strings.Repeat(" ", valueWidth-ansi.StringWidth(s)) + s
}

// cells returns the bar of a time, next to which the other pod's time stands. A time that is not zero has a cell.
func (t *table) cells(took, other time.Duration) string {
	if took <= 0 || t.longest <= 0 {
		return ""
	}
	sign := t.Fast
	if took > other {
		sign = t.Slow
	}
	n := int((took*time.Duration(t.bar) + t.longest/2) / t.longest)
	return strings.Repeat(sign, max(n, 1))
}

// Cell pads a text of a table to the width of its column, in a terminal's cells, and cuts a longer one.
func Cell(s string, width int) string {
	s = ansi.Truncate(s, width, "...")
	return s + strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
}
