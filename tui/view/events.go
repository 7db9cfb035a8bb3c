package view

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() {
	addMain(mainPane{main: screen.MainEvents, place: 2, name: screen.EventsName, draw: (*frame).events, table: true})
}

// signOnly is the width of the column of kinds without its words.
const signOnly = 2

// column is a column of a table. Its width includes the two blanks behind it.
type column struct {
	name  probes.Text
	width int
	right bool
}

// eventColumns returns the columns that a width has room for. The last one takes the rest of the width.
func eventColumns(w int) []column {
	clock, pod, step := column{wordTime, 14, false}, column{wordPod, 24, false}, column{wordStep, 20, false}
	kind, tookCol, text := column{wordKind, 11, false}, column{wordTook, 10, true}, column{wordText, 0, false}
	switch {
	case w >= 130:
		pod.width, step.width = 34, 24
		fallthrough
	case w >= 96:
		return []column{clock, pod, step, kind, tookCol, text}
	case w >= 80:
		pod.width, step.width = 17, 19
		return []column{clock, pod, step, kind, text}
	}
	clock.width, kind.width, pod.width, step.width = 10, signOnly, 16, 21
	if w >= 64 {
		return []column{clock, pod, kind, step, text}
	}
	return []column{clock, pod, kind, {wordStep, 0, false}}
}

// events draws the table of events. It is scrolled sideways as a whole.
func (f *frame) events(r Rect) {
	e := f.s.Events()
	if e == nil {
		f.title(r, screen.PaneMain, f.text(screen.EventsName), "")
		return
	}
	name := f.text(screen.EventsName)
	if e.Of != "" {
		name += "  " + e.Of
	}
	f.titleNew(r, screen.PaneMain, name, f.eventsSummary(e), e.Newer)
	r = r.inset(0, 1, 0, 0)
	if len(e.Rows) == 0 {
		f.empty(r, e.Empty)
		return
	}
	cols := eventColumns(r.W)
	if e.Of != "" {
		cols = ofOnePod(cols)
	}
	f.headings(r.line(0).inset(1, 0, 1, 0), cols, e.Offset)
	r = r.inset(0, 1, 0, 0)
	from, to := window(len(e.Rows), e.Cursor, r.H)
	for i := from; i < to; i++ {
		f.event(r.line(i-from), cols, &e.Rows[i], e.Offset, i == e.Cursor)
	}
	f.thumb(r, e.Top+from, to-from, e.Total)
}

// ofOnePod leaves out the column of pods, and gives a part of its room to the steps.
func ofOnePod(cols []column) []column {
	cols = slices.DeleteFunc(cols, func(c column) bool { return c.name == wordPod })
	for i := range cols {
		if cols[i].name == wordStep && cols[i].width > 0 {
			cols[i].width += 7
		}
	}
	return cols
}

// eventsSummary says how many events match, what is searched for, and whether the list follows.
func (f *frame) eventsSummary(e *screen.EventList) string {
	var parts []string
	if e.Filter != "" {
		parts = append(parts, f.text(wordFilter)+" "+e.Filter)
	}
	if e.More {
		parts = append(parts, f.text(wordOlder))
	}
	if e.Follow {
		parts = append(parts, f.m.down+" "+f.text(wordFollows))
	}
	return strings.Join(append(parts, thousands(e.Total)), "   ")
}

// thousands writes a number with blanks between its thousands.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

// headings writes the names of the columns.
func (f *frame) headings(line Rect, cols []column, offset int) {
	texts := make([]span, len(cols))
	for i, c := range cols {
		if c.width != signOnly {
			texts[i] = span{f.text(c.name), inkFaint}
		}
	}
	f.cells(line, cols, texts, offset, onNothing)
}

// cells writes one line of a table, from offset cells on.
func (f *frame) cells(line Rect, cols []column, texts []span, offset int, ground ink) {
	x := line.X - offset
	for i, c := range cols {
		text, k := texts[i].text, texts[i].ink.on(ground)
		if c.width == 0 {
			if offset == 0 {
				text = fit(text, line.right()-x, f.m.ellipsis)
			}
			f.c.put(line, x, line.Y, text, k)
			return
		}
		if c.width > signOnly {
			text = fitMiddle(text, c.width-2, f.m.ellipsis)
		}
		at := x
		if c.right {
			at += c.width - 2 - width(text)
		}
		f.c.put(line, at, line.Y, text, k)
		x += c.width
	}
}

func (f *frame) event(line Rect, cols []column, row *screen.EventRow, offset int, selected bool) {
	ground := onNothing
	if selected {
		ground = f.gutter(line, screen.PaneMain, onNothing)
	}
	f.zone(line, Target{Kind: OnEvent, Pane: screen.PaneMain, Index: row.Pos})
	f.bookmark(line, row.Marked, ground)
	texts := make([]span, len(cols))
	for i, c := range cols {
		texts[i] = f.eventCell(c, row)
	}
	f.cells(line.inset(1, 0, 2, 0), cols, texts, offset, ground)
}

func (f *frame) eventCell(c column, row *screen.EventRow) span {
	e := &row.Event
	switch c.name {
	case wordTime:
		if c.width < 14 {
			return span{e.Time.Format("15:04:05"), inkFaint}
		}
		return span{e.Time.Format("15:04:05.000"), inkFaint}
	case wordPod:
		if e.Pod == nil {
			return span{"", inkFaint}
		}
		if c.width < 24 {
			return span{e.Pod.Name, inkMuted}
		}
		return span{e.Pod.NamespacedName(), inkMuted}
	case wordStep:
		if c.width == 0 && e.Kind == probes.Note { // what was logged is what the row is for
			return span{strings.TrimSpace(e.Step + "  " + row.Text), inkPlain}
		}
		return span{e.Step, inkPlain}
	case wordKind:
		kind := f.eventKind(e)
		if c.width == signOnly {
			kind.text, _, _ = strings.Cut(kind.text, " ")
		}
		return kind
	case wordTook:
		if e.DurationNs > 0 {
			return span{words.Measured(time.Duration(e.DurationNs)), inkMuted}
		}
		return span{}
	}
	if e.Error != "" {
		return span{row.Text, inkFailedText}
	}
	return span{row.Text, inkMuted}
}

// eventKind returns the kind of an event, with a sign. It has the same words as the output of the commands.
func (f *frame) eventKind(e *probes.Event) span {
	switch {
	case e.Error != "" && e.Kind == probes.Exit:
		return span{f.m.failed + " " + string(e.Kind), inkFailed}
	case e.Kind == probes.Enter:
		return span{f.m.pointer + " " + string(e.Kind), inkPlain}
	case e.Kind == probes.Exit:
		return span{f.m.done + " " + string(e.Kind), inkDone}
	case e.Kind == probes.Held:
		return span{f.m.held + " " + string(e.Kind), inkHeld}
	case e.Kind == probes.Fault, e.Kind == probes.Drop:
		return span{f.m.stuck + " " + string(e.Kind), inkWarn}
	}
	return span{f.m.note + " " + string(e.Kind), inkAccent}
}
