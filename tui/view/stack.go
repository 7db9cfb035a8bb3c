package view

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

// stackParts says how many lines of a box each part of a stack gets.
type stackParts struct {
	head, wrong []string
	frames      int
	rule        bool
	values      int
}

// shareStack gives the frames a third of the lines, or the lines that the values leave free.
func shareStack(o *screen.Overlay, st *Styles) stackParts {
	s, w := o.Stack, overWidth(o.Kind, st)
	rest := max(1, overRoom(st).H-2)
	p := stackParts{rule: rest > 8}
	if o.Input != nil {
		rest--
	}
	if p.rule {
		rest--
	}
	take := func(all []string, most int) []string {
		all = shorten(all, max(0, most), st.m.ellipsis)
		rest -= len(all)
		return all
	}
	for _, l := range s.Lines {
		p.head = append(p.head, wrap(l, w)...)
	}
	p.head = take(p.head, rest/3)
	if s.Error != "" {
		p.wrong = take(wrap(st.m.failed+" "+s.Error, w), rest/2)
	}
	p.frames = max(0, min(len(s.Frames), rest, max(1, rest/3, rest-len(s.Values))))
	p.values = max(0, rest-p.frames)
	return p
}

// StackValues returns how many lines of a stack's values are shown.
func StackValues(o *screen.Overlay, st *Styles) int { return shareStack(o, st).values }

// stack draws the functions under way, the chosen one marked, and below them its variables. The box keeps its size,
// so that nothing moves.
func (f *frame) stack(o *screen.Overlay) {
	p := shareStack(o, f.st)
	r := f.box(overWidth(o.Kind, f.st), max(1, overRoom(f.st).H-2), o.Title, o.Danger)
	if o.Input != nil && r.H > 0 {
		f.input(r.line(r.H-1), o.Input)
		r.H--
	}
	r = f.lines(r, p.head, inkMuted)
	r = f.lines(r, p.wrong, inkFailedText)
	f.stackFrames(Rect{r.X, r.Y, r.W, min(p.frames, r.H)}, o)
	r = r.inset(0, p.frames, 0, 0)
	if p.rule && r.H > 0 {
		f.c.repeat(r, r.X, r.Y, r.W, f.m.lineH, inkLine)
		r = r.inset(0, 1, 0, 0)
	}
	f.stackValues(Rect{r.X, r.Y, r.W, min(p.values, r.H)}, o.Stack)
}

// lines writes lines, and returns the room below them.
func (f *frame) lines(r Rect, all []string, k ink) Rect {
	for i := range min(len(all), r.H) {
		f.put(r.line(i), all[i], k)
	}
	return r.inset(0, len(all), 0, 0)
}

// stackFrames draws the frames around the chosen one.
func (f *frame) stackFrames(r Rect, o *screen.Overlay) {
	s := o.Stack
	digits := len(strconv.Itoa(max(0, len(s.Frames)-1)))
	from, to := window(len(s.Frames), s.Frame, r.H)
	for i := from; i < to; i++ {
		line := r.line(i - from)
		ground := f.chosen(line, i == s.Frame)
		f.zone(line, Target{Kind: OnItem, Index: i})
		number := strconv.Itoa(i)
		f.put(restFrom(line, line.X+digits-len(number)), number, inkFaint.on(ground))
		rest := restFrom(line, line.X+digits+1)
		rest = f.putRight(rest, s.Frames[i].Place, inkMuted.on(ground), 16)
		f.put(rest, s.Frames[i].Function, inkPlain.on(ground))
	}
	f.thumb(r.inset(0, 0, -1, 0), from, to-from, len(s.Frames))
}

// stackValues draws the variables, each in a line.
func (f *frame) stackValues(r Rect, s *screen.Stack) {
	top := max(0, min(s.Top, len(s.Values)-r.H))
	shown := min(r.H, len(s.Values)-top)
	for i := range shown {
		v, line := &s.Values[top+i], r.line(i)
		switch {
		case v.Heading:
			f.put(line, v.Text, inkStrong)
		case v.Number > 0:
			f.codeLine(line, v)
		case v.Logged:
			f.rich(line, rich{{strings.Repeat(" ", 7) + f.m.logs + " ", inkAccent}, {v.Text, inkField}}, onNothing)
		case v.Name == "":
			f.put(line, v.Text, inkPlain)
		default:
			x := f.put(line, v.Name, inkField)
			x = f.put(restFrom(line, x), " = ", inkFaint)
			f.put(restFrom(line, x), v.Text, inkPlain)
		}
	}
	f.thumb(r.inset(0, 0, -1, 0), top, shown, len(s.Values))
}

// codeLine draws a line of the source, with its number.
func (f *frame) codeLine(line Rect, v *screen.StackValue) {
	head, number, text := "  ", inkFaint, inkMuted
	if v.Here {
		head, number, text = f.m.pointer+" ", inkCurrent, inkStrong
	}
	f.rich(line, append(f.lineHead(head, fmt.Sprintf("%5d", v.Number), v.Point, number), span{v.Text, text}), onNothing)
}

// stackKeys returns the keys of a stack, or of the line that is typed in it.
func (f *frame) stackKeys(leave screen.Hint) []screen.Hint {
	if f.s.Over.Input != nil {
		return []screen.Hint{{Key: "Enter", Text: f.text(wordPrint)}, leave}
	}
	hints := []screen.Hint{{Key: "Up Down", Text: f.text(wordFrame)}}
	if f.s.Over.Stack.Steps {
		hints = append(hints, screen.Hint{Key: "n", Text: f.text(wordNextLine)}, screen.Hint{Key: "s", Text: f.text(wordIntoLine)}, screen.Hint{Key: "o", Text: f.text(wordOutOf)})
	}
	if f.s.Over.Stack.Goroutines > 1 {
		hints = append(hints, screen.Hint{Key: "Tab", Text: f.text(wordGoroutine)})
	}
	if f.s.Over.Stack.Logs {
		hints = append(hints, screen.Hint{Key: "v", Text: f.text(wordLogHere)})
	}
	return append(hints, screen.Hint{Key: "p", Text: f.text(wordPrint)}, leave, screen.Hint{Key: "PgUp PgDn", Text: f.text(wordScroll)})
}
