package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() {
	addMain(mainPane{main: screen.MainTop, place: 5, name: screen.TopName, draw: (*frame).top, table: true})
}

// The names of columns that are the same in each language.
var (
	wordP50  = words.Same("p50")
	wordP90  = words.Same("p90")
	wordP99  = words.Same("p99")
	wordHeat = words.Same(spread.HeatScale)
)

// topColumns returns the columns of durations that a width has room for.
func topColumns(w int) []column {
	step, worst, heat := column{wordStep, 20, false}, column{wordWorstIn, 0, false}, column{wordHeat, spread.HeatBins + 2, false}
	calls, errors, share := column{wordCalls, 9, true}, column{wordErrors, 8, true}, column{wordShare, 8, true}
	p50, p99, open := column{wordP50, 9, true}, column{wordP99, 9, true}, column{wordOpen, 12, true}
	switch {
	case w >= 150:
		step.width = 26
		return []column{step, calls, {wordPerMinute, 10, true}, errors, p50, {wordP90, 9, true}, p99, {wordLongest, 9, true}, share, open, heat, worst}
	case w >= 116:
		return []column{step, calls, errors, p50, p99, {wordLongest, 9, true}, open, heat, worst}
	case w >= 92:
		return []column{step, calls, errors, p50, p99, heat, worst}
	case w >= 76:
		return []column{step, calls, p50, p99, heat, worst}
	case w >= 58:
		return []column{step, p50, p99, heat}
	}
	return []column{step, p50, p99, worst}
}

// namespaceWidth is the width from which on the pod of the longest call has its namespace.
const namespaceWidth = 96

// top draws the table of durations.
func (f *frame) top(r Rect) {
	t := f.s.Top()
	if t == nil {
		f.title(r, screen.PaneMain, f.text(screen.TopName), "")
		return
	}
	name := f.text(screen.TopName)
	if t.Of != "" {
		name += "  " + t.Of
	}
	right := f.text(orderWords[t.Order])
	if t.Seen > 0 {
		right += "   " + fmt.Sprintf(f.text(wordSeenFor), words.Clock(t.Seen))
	}
	f.title(r, screen.PaneMain, name, right)
	r = r.inset(0, 1, 0, 0)
	if len(t.Rows) == 0 {
		f.empty(r, t.Empty)
		return
	}
	cols := topColumns(r.W - 2)
	f.headings(r.line(0).inset(1, 0, 1, 0), cols, 0)
	r = r.inset(0, 1, 0, 0)
	from, to := window(len(t.Rows), t.Cursor, r.H)
	for i := from; i < to; i++ {
		f.topRow(r.line(i-from), cols, &t.Rows[i], i == t.Cursor)
	}
	f.thumb(r, t.Top+from, to-from, t.Total)
}

func (f *frame) topRow(line Rect, cols []column, row *screen.TopRow, selected bool) {
	ground := onNothing
	if selected {
		ground = f.gutter(line, screen.PaneMain, onNothing)
	}
	f.zone(line, Target{Kind: OnTop, Pane: screen.PaneMain, ID: row.Step})
	texts := make([]span, len(cols))
	for i, c := range cols {
		texts[i] = f.topCell(c, row)
	}
	if _, name, is := strings.Cut(texts[len(cols)-1].text, "/"); is && line.W < namespaceWidth {
		texts[len(cols)-1].text = name
	}
	f.cells(line.inset(1, 0, 2, 0), cols, texts, 0, ground)
}

func (f *frame) topCell(c column, row *screen.TopRow) span {
	took := func(d time.Duration, k ink) span {
		if row.Calls == 0 {
			return span{}
		}
		return span{words.Measured(d), k}
	}
	switch c.name {
	case wordStep:
		return span{row.Step, inkPlain}
	case wordCalls:
		return span{thousands(row.Calls), inkMuted}
	case wordPerMinute:
		return span{strconv.FormatFloat(row.PerMinute, 'f', 1, 64), inkMuted}
	case wordErrors:
		if row.Errors > 0 {
			return span{thousands(row.Errors), inkFailed}
		}
		return span{}
	case wordP50:
		return took(row.P50, inkPlain)
	case wordP90:
		return took(row.P90, inkPlain)
	case wordP99:
		return took(row.P99, inkStrong)
	case wordLongest:
		return took(row.Max, inkPlain)
	case wordShare:
		if row.Calls == 0 {
			return span{}
		}
		return span{strconv.FormatFloat(100*row.Share, 'f', 1, 64) + " %", inkMuted}
	case wordOpen:
		if row.Open > 0 {
			return span{fmt.Sprintf(f.text(wordOpenFor), row.Open, words.Clock(row.Longest)), inkCurrent}
		}
		return span{}
	case wordHeat:
		return span{spread.HeatLine(row.Heat, f.m.heat), inkBar}
	}
	if row.Calls == 0 {
		return span{fmt.Sprintf(f.text(wordSoFar), words.Clock(row.Longest)), inkCurrent}
	}
	return span{row.Worst, inkMuted}
}
