package view

import (
	"math"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() {
	addMain(mainPane{main: screen.MainTimeline, place: 1, name: screen.TimelineName, draw: (*frame).timeline, table: true})
}

// chart is the room for the bars of a timeline, with their scale.
type chart struct {
	Rect
	from, span time.Duration
}

// cellsTo returns the place of a moment, in cells from the left edge of the chart.
func (c chart) cellsTo(d time.Duration) float64 {
	return float64(d-c.from) / float64(c.span) * float64(c.W)
}

// timeline draws a waterfall of calls.
func (f *frame) timeline(r Rect) {
	t := f.s.Timeline()
	if t == nil || len(t.Bars) == 0 {
		r = f.title(r, screen.PaneMain, f.text(screen.TimelineName), "")
		if t != nil {
			f.empty(r, t.Empty)
		}
		return
	}
	span := max(t.To-t.From, time.Microsecond)
	f.title(r, screen.PaneMain, f.text(screen.TimelineName), f.m.critical+" "+f.text(wordCritical)+"   "+words.Measured(span))
	r = r.inset(0, 1, 0, 0)
	label := min(max(14, r.W*38/100), 44)
	c := chart{r.inset(label, 0, 2, 0), t.From, span}
	if c.W < 8 || c.H < 2 {
		return
	}
	f.axis(c, t)
	c.Rect = c.inset(0, 1, 0, 0)
	r = r.inset(0, 1, 0, 0)
	from, to := window(len(t.Bars), t.Cursor, r.H)
	for i := from; i < to; i++ {
		line := r.line(i - from)
		f.bar(line, c, &t.Bars[i], label, i == t.Cursor, t)
	}
	f.thumb(r, t.Top+from, to-from, t.Total)
}

// axis writes the times over the chart.
func (f *frame) axis(c chart, t *screen.Timeline) {
	free := c.X
	if x, ok := c.column(t.Now); ok && t.Now < t.To {
		word := f.text(wordNow)
		f.c.put(c.line(0), min(x, c.right()-width(word)), c.Y, word, inkCurrent)
	}
	for _, tick := range c.ticks() {
		x, _ := c.column(c.from + tick)
		text := since(tick)
		if x < free || x+width(text) > c.right() || f.taken(x, c.Y, width(text)) {
			continue
		}
		f.c.put(c.line(0), x, c.Y, text, inkFaint)
		free = x + width(text) + 1
	}
}

// taken reports whether there is text already.
func (f *frame) taken(x, y, w int) bool {
	for i := range w {
		if f.c.cells[y*f.c.w+x+i].text != " " {
			return true
		}
	}
	return false
}

// ticks returns round times, at least a dozen cells apart, from the left edge on.
func (c chart) ticks() []time.Duration {
	least := float64(c.span) * 12 / float64(c.W)
	step := math.Pow(10, math.Floor(math.Log10(least)))
	for _, by := range []float64{1, 2, 5, 10} {
		if step*by >= least {
			step *= by
			break
		}
	}
	var ticks []time.Duration
	for d := 0.0; d < float64(c.span) && len(ticks) < c.W; d += step {
		ticks = append(ticks, time.Duration(d))
	}
	return ticks
}

// column returns the cell of a moment, and whether it is shown.
func (c chart) column(d time.Duration) (int, bool) {
	at := int(c.cellsTo(d))
	return c.X + min(max(at, 0), c.W-1), at >= 0 && at < c.W
}

// bar draws one call: mark, label, and when it ran.
func (f *frame) bar(line Rect, c chart, b *screen.Bar, label int, selected bool, t *screen.Timeline) {
	ground := onNothing
	if selected {
		ground = f.gutter(line, screen.PaneMain, onNothing)
	}
	f.zone(line, Target{Kind: OnBar, Pane: screen.PaneMain, ID: b.ID})
	// The label comes last, because it may use the free cells of the chart.
	defer func(at Rect) { f.barLabel(at.inset(0, 0, at.W-label-f.free(c.line(at.Y-c.Y)), 0), b, ground) }(line)
	line = c.line(line.Y - c.Y)
	for _, tick := range c.ticks()[1:] {
		x, _ := c.column(c.from + tick)
		f.c.put(line, x, line.Y, f.m.grid, inkLine.on(ground))
	}
	if x, ok := c.column(t.Now); ok && t.Now < t.To {
		f.c.put(line, x, line.Y, f.m.now, inkCurrent.on(ground))
	}
	end := b.To
	if b.Open {
		end = max(t.Now, b.From)
	}
	if len(b.Parts) > 0 {
		f.parts(line, c, b, ground)
		return
	}
	f.blocks(line, c, b, end, ground)
}

// free returns how many cells at the beginning of a line of the chart have nothing but its grid.
func (f *frame) free(line Rect) (n int) {
	for n < line.W {
		if cell := f.c.cells[line.Y*f.c.w+line.X+n].text; cell != " " && cell != f.m.grid {
			return n
		}
		n++
	}
	return 0 // the bar is not shown, and a label there would look like it
}

// parts draws each call of a fold at its time, and behind them the sum of their times.
func (f *frame) parts(line Rect, c chart, b *screen.Bar, ground ink) {
	var sum time.Duration
	glyph, k := f.barLook(b)
	first, end := c.W, 0
	for _, p := range b.Parts {
		sum += p.To - p.From
		from, to := c.cellsTo(p.From), c.cellsTo(p.To)
		if to < 0 || from >= float64(c.W) {
			continue
		}
		x := max(0, int(from))
		n := max(1, min(c.W, int(to))-x)
		cells := strings.Repeat(glyph, n)
		if int(from) == int(to) {
			cells = f.partial(to-from, glyph)
		}
		f.c.put(line, line.X+x, line.Y, cells, k.on(ground))
		first, end = min(first, x), max(end, x+n)
	}
	if end > 0 {
		f.barTook(line, first, end, words.Measured(sum), ground)
	}
}

func (f *frame) barLabel(line Rect, b *screen.Bar, ground ink) {
	rest := line.inset(1, 0, 1, 0)
	if b.Critical {
		f.c.put(rest, rest.X, rest.Y, f.m.critical, inkBarCritical.on(ground))
	}
	rest = rest.inset(2+b.Depth, 0, 0, 0)
	if b.Mark != screen.RowDone || b.Pod != nil {
		glyph, k := f.m.row(b.Mark)
		if b.Pod != nil {
			glyph, k = f.m.pod(*b.Pod)
		}
		rest = restFrom(rest, f.put(rest, glyph+" ", k.on(ground)))
	}
	k := inkPlain
	switch {
	case b.Mark == screen.RowFailed:
		k = inkFailed
	case b.Critical:
		k = inkStrong
	}
	f.put(rest, b.Label, k.on(ground))
}

// barLook returns the glyph and the ink of a bar.
func (f *frame) barLook(b *screen.Bar) (string, ink) {
	glyph, k := f.m.barPlain, inkBar
	if b.Critical {
		glyph, k = f.m.barBusy, inkBarCritical
	}
	switch b.Mark {
	case screen.RowFailed:
		k = inkFailed
	case screen.RowHeld:
		k = inkHeld
	case screen.RowCurrent:
		k = inkCurrent
	case screen.RowWaits:
		glyph, k = f.m.barNo, inkWarn
	case screen.RowToCome, screen.RowUnseen:
		glyph, k = f.m.barNo, inkFaint
	}
	return glyph, k
}

// blocks draws a bar up to a time, with ends finer than a cell, and next to it how long it took.
func (f *frame) blocks(line Rect, c chart, bar *screen.Bar, to time.Duration, ground ink) {
	a, b := max(0, c.cellsTo(bar.From)), min(float64(c.W), c.cellsTo(to))
	if b < 0 || a >= float64(c.W) {
		return
	}
	glyph, k := f.barLook(bar)
	k = k.on(ground)
	first, end := int(a), int(b)
	if first == end || bar.Open && end >= c.W {
		end = first + 1
		f.c.put(line, line.X+first, line.Y, f.partial(b-a, glyph), k)
	} else {
		x := first
		if a-float64(first) >= 0.5 {
			f.c.put(line, line.X+x, line.Y, f.m.barHalf, k)
			x++
		}
		f.c.put(line, line.X+x, line.Y, strings.Repeat(glyph, max(0, end-x)), k)
		if b-float64(end) >= 0.125 {
			f.c.put(line, line.X+end, line.Y, f.partial(b-float64(end), glyph), k)
			end++
		}
	}
	if bar.Open {
		f.c.put(line, line.X+min(end, c.W-1), line.Y, f.m.barEnd, k)
		end++
	}
	f.barTook(line, first, end, words.Measured(to-bar.From), ground)
}

// partial returns a bar shorter than a cell.
func (f *frame) partial(part float64, glyph string) string {
	n := int(math.Round(part * 8))
	if len(f.m.eighths) == 0 || n >= 8 || glyph == f.m.barNo {
		return glyph
	}
	return f.m.eighths[max(0, n-1)]
}

// barTook writes the time behind a bar, or before it.
func (f *frame) barTook(line Rect, first, end int, text string, ground ink) {
	w := width(text)
	switch {
	case end+1+w <= line.W:
		f.c.put(line, line.X+end+1, line.Y, text, inkFaint.on(ground))
	case first-1-w >= 0:
		f.c.put(line, line.X+first-1-w, line.Y, text, inkFaint.on(ground))
	}
}
