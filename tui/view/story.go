package view

import (
	"strconv"
	"time"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() {
	addMain(mainPane{main: screen.MainStory, place: 0, name: screen.StoryName, draw: (*frame).story})
}

// timeWidth is the width of the column of times at the right of a story.
const timeWidth = 11

// story draws the pipeline of the selected pod.
func (f *frame) story(r Rect) {
	s := f.s.Story()
	if s == nil {
		f.title(r, screen.PaneMain, f.text(screen.StoryName), "")
		return
	}
	r = f.storyTitle(r, s)
	if len(s.Rows) == 0 {
		f.empty(r, s.Empty)
		return
	}
	from, to := window(len(s.Rows), s.Cursor, r.H)
	for i := from; i < to; i++ {
		f.row(r.line(i-from), s.Rows, i, i == s.Cursor)
	}
	f.thumb(r, s.Top+from, to-from, s.Total)
}

func (f *frame) storyTitle(r Rect, s *screen.Story) Rect {
	right := s.Title
	if s.Clock != "" {
		right += "   " + s.Clock
	}
	name := f.text(screen.StoryName)
	if s.Pod.Name != "" {
		name = fitMiddle(podName(&s.Pod), r.W-4, f.m.ellipsis)
	}
	return f.titleNew(r, screen.PaneMain, name, right, s.Newer)
}

// row draws one line of a story: arrow, mark, label, result, time. The step that the pod is at has a ground of its
// own. The steps around that one have none.
func (f *frame) row(line Rect, rows []screen.Row, i int, selected bool) {
	row := &rows[i]
	ground := onNothing
	switch {
	case row.Mark == screen.RowHeld:
		ground = onHeld
	case row.Mark == screen.RowCurrent && innermost(rows, i):
		ground = onCurrent
	}
	lit := ground != onNothing
	f.c.fill(line, inkPlain.on(ground))
	if selected {
		ground = f.gutter(line, screen.PaneMain, ground)
	}
	f.zone(line, Target{Kind: OnRow, Pane: screen.PaneMain, ID: row.ID})
	f.bookmark(line, row.Marked, ground)
	rest := f.rowHead(line, row, ground)
	if row.Kind == screen.RowChapter {
		f.chapter(line, rest, row, ground)
		return
	}
	rest = f.rowTime(rest, row, lit, ground)
	noteAt := line.X + noteColumn(line.W)
	x := f.put(rest, row.Label, labelInk(row, lit).on(ground))
	if row.Times > 1 {
		k := inkMuted
		if row.Mark == screen.RowFailed || row.Mark == screen.RowWaits {
			k = inkWarn
		}
		x = f.put(restFrom(rest, x+1), f.m.times+strconv.Itoa(row.Times), k.on(ground))
	}
	x = f.point(rest, x, row.Point, ground)
	if row.Hidden > 0 {
		x = f.put(restFrom(rest, x+1), "+"+strconv.Itoa(row.Hidden), inkFaint.on(ground))
	}
	f.rowNote(restFrom(rest, max(x+2, noteAt)), row, ground)
}

// point puts the signs of the breakpoints at a step behind its label, and returns where they end.
func (f *frame) point(rest Rect, x int, p screen.Point, ground ink) int {
	if p.Acts {
		x = f.put(restFrom(rest, x+1), f.m.acts, inkHeld.on(ground))
	}
	if p.Logs {
		x = f.put(restFrom(rest, x+1), f.m.logs, inkAccent.on(ground))
	}
	return x
}

// bookmark puts a sign at the end of a row that a person wants to find again.
func (f *frame) bookmark(line Rect, marked bool, ground ink) {
	if marked {
		f.c.put(line, line.right()-2, line.Y, f.m.bookmark, inkAccent.on(ground))
	}
}

// innermost reports whether no step within this one is under way.
func innermost(rows []screen.Row, i int) bool {
	for _, r := range rows[i+1:] {
		if r.Depth <= rows[i].Depth {
			break
		}
		if r.Mark == screen.RowCurrent || r.Mark == screen.RowHeld {
			return false
		}
	}
	return true
}

// indent returns how far each level of a story is to the right of the level around it.
func indent(w int) int {
	if w < 56 {
		return 1
	}
	return 2
}

// noteColumn returns the column where notes begin, if the label before is not longer.
func noteColumn(w int) int { return min(max(18, w*46/100), 46) }

// rowHead draws the parts before the label.
func (f *frame) rowHead(line Rect, row *screen.Row, ground ink) Rect {
	x := line.X + 1 + row.Depth*indent(line.W)
	rest := line.inset(0, 0, 2, 0)
	if row.Opens {
		arrow := f.m.closed
		if row.Open {
			arrow = f.m.open
		}
		f.c.put(rest, x, line.Y, arrow, inkMuted.on(ground))
		f.zone(Rect{x, line.Y, 2, 1}, Target{Kind: OnFold, Pane: screen.PaneMain, ID: row.ID})
	}
	x += 2
	if row.Kind != screen.RowChapter {
		glyph, k := f.m.row(row.Mark)
		f.c.put(rest, x, line.Y, glyph, k.on(ground))
		x += 2
	}
	return restFrom(rest, x)
}

// chapter draws a heading with a thin line up to its time.
func (f *frame) chapter(line, rest Rect, row *screen.Row, ground ink) {
	k := inkStrong
	if row.Mark == screen.RowToCome {
		k = inkFaint
	}
	x := f.put(rest, row.Label, k.on(ground))
	if row.Note != "" {
		x = f.put(restFrom(rest, x+2), row.Note, inkMuted.on(ground))
	}
	end := rest.right()
	if row.Took > 0 {
		rest = f.putRight(restFrom(rest, x+1), words.Measured(row.Took), inkMuted.on(ground), 3)
		end = rest.right()
	}
	f.c.repeat(line, x+1, line.Y, end-x-1, f.m.lineH, inkLine.on(ground))
}

// rowTime draws the time at the right, and returns the rest of the line.
func (f *frame) rowTime(rest Rect, row *screen.Row, lit bool, ground ink) Rect {
	text, k := f.rowTook(row, lit)
	f.c.put(rest, rest.right()-width(text), rest.Y, text, k.on(ground))
	if rest.W > 84 && row.At > 0 { // the time when it began
		rest.W -= timeWidth
		at := since(row.At)
		f.c.put(rest, rest.right()-width(at), rest.Y, at, inkFaint.on(ground))
		text = at
	}
	if tag := rowTag(row); tag != "" && rest.W > 50 {
		f.c.put(rest, rest.right()-timeWidth-width(tag), rest.Y, tag, inkFaint.on(ground))
		rest.W -= timeWidth + width(tag) + 2
		return rest
	}
	if text != "" {
		rest.W -= width(text) + 2
	}
	return rest
}

// rowTag names the source of a row, if that is not one of the kubelet's own steps.
func rowTag(row *screen.Row) string {
	if row.CRI {
		return "CRI"
	}
	return row.From
}

func (f *frame) rowTook(row *screen.Row, lit bool) (string, ink) {
	switch row.Mark {
	case screen.RowHeld:
		if row.Left > 0 {
			return f.textf(wordLeft, words.Clock(row.Left)), inkHeld
		}
		return f.text(wordHeld), inkHeld
	case screen.RowWaits:
		if row.Left > 0 {
			return f.textf(wordAgain, words.Clock(row.Left)), inkWarn
		}
	case screen.RowCurrent:
		if lit {
			return f.textf(wordSoFar, words.Measured(row.Took)), inkCurrent
		}
		return words.Measured(row.Took), inkCurrent
	case screen.RowToCome, screen.RowUnseen:
		return "", inkFaint
	}
	switch {
	case row.Took <= 0:
		return "", inkFaint
	case row.Took < 10*time.Millisecond:
		return words.Measured(row.Took), inkFaint
	case row.Took < time.Second:
		return words.Measured(row.Took), inkMuted
	}
	return words.Measured(row.Took), inkPlain
}

func labelInk(row *screen.Row, lit bool) ink {
	if lit {
		return inkStrong
	}
	switch row.Mark {
	case screen.RowToCome, screen.RowUnseen:
		return inkFaint
	case screen.RowFailed:
		if row.Open { // the row that failed is beneath
			return inkPlain
		}
		return inkFailed
	case screen.RowNoted:
		return inkAccent
	}
	if row.Kind == screen.RowSync {
		return inkStrong
	}
	return inkPlain
}

// rowNote writes the result of the step and, in a colour of its own, the error.
func (f *frame) rowNote(line Rect, row *screen.Row, ground ink) {
	if line.W <= 0 {
		return
	}
	note := inkMuted
	if row.Mark == screen.RowToCome || row.Mark == screen.RowUnseen {
		note = inkFaint
	}
	switch {
	case row.Mark == screen.RowUnseen && row.Error != "":
		f.put(line, f.text(wordUnseen)+f.text(wordColon)+row.Error, note.on(ground))
		return
	case row.Error == "":
		f.put(line, row.Note, note.on(ground))
		return
	}
	if row.Note != "" && line.W-width(row.Note) > 24 {
		line = restFrom(line, f.put(line, row.Note, note.on(ground))+2)
	}
	x := f.put(line, f.text(wordFailed)+f.text(wordColon), inkFailed.on(ground))
	f.put(restFrom(line, x), row.Error, inkFailedText.on(ground))
}
