package stack

import (
	"fmt"
	"maps"
	"path"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Kept is a stack that a breakpoint kept. Nobody is asked for it.
type Kept struct {
	desk   Desk
	event  probes.Event
	frames []wire.Frame
	// frame is the chosen frame. from is the first line of its values that is shown, all is how many there are, and rows
	// is how many fit.
	frame           int
	from, rows, all int
}

// NewKept returns the page of an event with a stack.
func NewKept(d Desk, e probes.Event, frames []wire.Frame) *Kept {
	return &Kept{desk: d, event: e, frames: frames}
}

// Overlay returns the page as the screen shows it.
func (k *Kept) Overlay(st *view.Styles) *screen.Overlay {
	at := fmt.Sprintf("%s · %s", k.event.Time.Local().Format("15:04:05.000"), words.Clean(k.event.Step))
	s := &screen.Stack{Lines: []string{at + " · " + k.desk.Text(reason.Note(k.event.Fields))}, Frame: k.frame, Values: k.values(st)}
	if k.event.Error != "" {
		s.Lines = append(s.Lines, words.OneLine(k.event.Error))
	}
	for _, f := range k.frames {
		shown := screen.StackFrame{Function: short(words.Clean(f.Function))}
		if f.Line > 0 {
			shown.Place = fmt.Sprintf("%s:%d", path.Base(words.Clean(f.File)), f.Line)
		}
		s.Frames = append(s.Frames, shown)
	}
	title := k.desk.Text(Title)
	if k.event.Pod != nil {
		title += " · " + words.Clean(k.event.Pod.NamespacedName())
	}
	o := &screen.Overlay{Kind: screen.OverStack, Title: title, Stack: s}
	k.rows, k.all = view.StackValues(o, st), len(s.Values)
	k.Move(0)
	s.Top = k.from
	return o
}

// values returns the lines about the chosen frame.
func (k *Kept) values(st *view.Styles) []screen.StackValue {
	f := k.frames[k.frame]
	out := sourceAround(k.desk, f.Function, f.File, f.Line)
	if f.Step != "" {
		out = append(out, screen.StackValue{Heading: true, Text: k.desk.Text(words.Text("values of the step", "步骤的值")) + " " + words.Clean(f.Step)})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Values)) {
		for i, line := range view.OverText([]string{words.Short(f.Values[name])}, st) {
			if i > 0 {
				name = ""
			}
			out = append(out, screen.StackValue{Name: words.Clean(name), Text: line})
		}
	}
	if len(f.Values) == 0 {
		out = append(out, screen.StackValue{Text: k.desk.Text(words.Text("no values are known here", "此处没有已知的值"))})
	}
	return out
}

// Key takes a key.
func (k *Kept) Key(key tea.KeyPressMsg) (tea.Cmd, bool) {
	half := max(1, k.rows/2)
	switch key.String() {
	case "up", "k":
		k.choose(k.frame - 1)
	case "down", "j":
		k.choose(k.frame + 1)
	case "home", "g":
		k.choose(0)
	case "end", "G":
		k.choose(len(k.frames) - 1)
	case "pgup", "ctrl+u":
		k.Move(-half)
	case "pgdown", "ctrl+d", "space":
		k.Move(half)
	case "esc", "q", "h", "left", "V":
		return nil, true
	}
	return nil, false
}

// Move scrolls down by some lines in the values.
func (k *Kept) Move(by int) { k.from = max(0, min(k.from+by, k.all-k.rows)) }

// Item takes a click on a frame.
func (k *Kept) Item(frame int) (tea.Cmd, bool) {
	k.choose(frame)
	return nil, false
}

func (k *Kept) choose(frame int) {
	k.frame, k.from = max(0, min(frame, len(k.frames)-1)), 0
}
