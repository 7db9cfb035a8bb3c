package view

import (
	"strconv"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() {
	addMain(mainPane{main: screen.MainBreaks, place: 3, name: screen.BreaksName, draw: (*frame).breaks, table: true})
}

// breakColumns returns the columns of breakpoints that a width has room for.
func breakColumns(w int) []column {
	number := column{probes.Text{En: "#", Zh: "#"}, 5, true}
	pods, steps, when := column{wordPods, 18, false}, column{wordStep, 20, false}, column{wordWhen, 13, false}
	hits, ends, does := column{wordHits, 7, true}, column{wordEnds, 8, true}, column{wordDoes, 0, false}
	switch {
	case w >= 110:
		pods.width, steps.width = 30, 26
		fallthrough
	case w >= 96:
		return []column{number, pods, steps, when, hits, ends, does}
	case w >= 72:
		return []column{number, pods, steps, when, does}
	case w >= 56:
		return []column{number, pods, steps, does}
	}
	return []column{number, steps, does}
}

// breaks draws the table of breakpoints. Lines below a breakpoint say how much it has logged, and where it
// cannot act.
func (f *frame) breaks(r Rect) {
	b := f.s.Breaks()
	count := ""
	if b != nil && len(b.Rows) > 0 {
		count = strconv.Itoa(len(b.Rows))
	}
	f.title(r, screen.PaneMain, f.text(screen.BreaksName), count)
	r = r.inset(0, 1, 0, 0)
	if b == nil {
		return
	}
	if len(b.Rows) == 0 {
		f.empty(r, b.Empty)
		return
	}
	cols := breakColumns(r.W)
	f.headings(r.line(0).inset(1, 0, 1, 0), cols, 0)
	r = r.inset(0, 1, 0, 0)
	for y, i := 0, breaksFrom(b, r.H); i < len(b.Rows) && y < r.H; i++ {
		n := breakLines(&b.Rows[i])
		f.breakpoint(Rect{r.X, r.Y + y, r.W, min(n, r.H-y)}, cols, &b.Rows[i], i == b.Cursor)
		y += n
	}
}

func breakLines(b *screen.BreakRow) int {
	n := 1
	if b.Counted != "" {
		n++
	}
	if b.Refused != "" {
		n++
	}
	return n
}

// breaksFrom returns the first breakpoint to draw so that the selected one is seen.
func breaksFrom(b *screen.BreakList, h int) int {
	from, used := 0, 0
	for i := 0; i <= b.Cursor && i < len(b.Rows); i++ {
		used += breakLines(&b.Rows[i])
		for used > h && from < i {
			used -= breakLines(&b.Rows[from])
			from++
		}
	}
	return from
}

func (f *frame) breakpoint(r Rect, cols []column, b *screen.BreakRow, selected bool) {
	ground := onNothing
	if selected {
		for i := range r.H {
			ground = f.gutter(r.line(i), screen.PaneMain, onNothing)
		}
	}
	f.zone(r, Target{Kind: OnBreak, Pane: screen.PaneMain, Index: int(b.ID)})
	texts := make([]span, len(cols))
	for i, c := range cols {
		texts[i] = breakCell(c, b)
	}
	f.cells(r.line(0).inset(1, 0, 1, 0), cols, texts, 0, ground)
	below := 1
	if b.Counted != "" && r.H > below {
		f.put(r.line(below).inset(6, 0, 1, 0), b.Counted, inkMuted.on(ground))
		below++
	}
	if b.Refused != "" && r.H > below {
		line := r.line(below).inset(6, 0, 1, 0)
		x := f.put(line, f.m.stuck+" ", inkWarn.on(ground))
		f.put(restFrom(line, x), b.Refused, inkWarn.on(ground))
	}
}

func breakCell(c column, b *screen.BreakRow) span {
	switch c.name {
	case wordPods:
		return span{b.Pods, inkPlain}
	case wordStep:
		return span{b.Steps, inkPlain}
	case wordWhen:
		return span{b.When, inkMuted}
	case wordHits:
		return span{strconv.Itoa(int(b.Hits)), inkMuted}
	case wordEnds:
		if b.Expires > 0 {
			return span{words.Clock(b.Expires), inkMuted}
		}
		return span{}
	case wordDoes:
		return span{b.Action, inkAccent}
	}
	return span{strconv.Itoa(int(b.ID)), inkFaint}
}
