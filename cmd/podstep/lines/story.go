package lines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Story writes events for people: a line each, indented as the calls nest. A step that is
// entered and left with nothing in between has one line.
type Story struct {
	wide bool
	// names makes it print the pod in every line, because there may be several.
	names bool
	// node begins each line, because there are several; empty: it does not.
	node string

	b     bytes.Buffer
	start time.Time
	depth map[uint64]int
	// last is an enter that is not printed yet. It waits for its exit until the end of the
	// batch. It waits no longer, so that a step that hangs is seen.
	last *probes.Event
}

// NewStory returns a Story without events.
func NewStory(wide, names bool) *Story {
	return &Story{wide: wide, names: names, depth: map[uint64]int{}}
}

// On makes the lines begin with the name of a node. Then they have the time of day, since the events of several nodes
// have no first one in common. An empty name changes nothing.
func (s *Story) On(node string) *Story {
	s.node = node
	return s
}

func (s *Story) Add(e *probes.Event) error {
	if s.start.IsZero() {
		s.start = e.Time
	}
	switch enter := s.last; {
	case enter != nil && e.Kind == probes.Exit && e.Span == enter.Span && e.Step == enter.Step:
		s.last = nil
		s.line(enter, "- ", stepText(e)+s.fields(enter, e))
		delete(s.depth, e.Span)
		return nil
	case enter != nil:
		s.printLast()
	}
	switch e.Kind {
	case probes.Enter:
		s.nest(e)
		s.last = e
	case probes.Exit:
		s.line(e, "< ", stepText(e)+s.fields(e))
		delete(s.depth, e.Span)
	default:
		if state, why, is := e.ProbeState(); is {
			s.line(e, "! ", words.Clean(reason.Probe(e.Probe, state, why).En))
			break
		}
		s.line(e, "! ", noteText(e)+s.fields(withoutWorded(e)))
	}
	return nil
}

func (s *Story) Flush() []byte {
	s.printLast()
	text := bytes.Clone(s.b.Bytes())
	s.b.Reset()
	return text
}

func (s *Story) printLast() {
	if s.last != nil {
		s.line(s.last, "> ", words.Clean(s.last.Step)+s.fields(s.last))
		s.last = nil
	}
}

func (s *Story) nest(e *probes.Event) {
	if e.Span == 0 {
		return
	}
	depth := 0
	if d, ok := s.depth[e.Parent]; ok && e.Parent != 0 {
		depth = d + 1
	}
	s.depth[e.Span] = depth
}

// Widths of the columns of the time since the start, and of the pod's and the node's names. A longer name
// pushes the rest aside.
const (
	timeColumn = 10
	nameColumn = 24
	nodeColumn = 12
)

func (s *Story) line(e *probes.Event, mark, text string) {
	at := fmt.Sprintf("+%.3fs", e.Time.Sub(s.start).Seconds())
	switch {
	case s.wide:
		at = e.Time.Format("15:04:05.000000")
	case s.node != "":
		at = e.Time.Format("15:04:05.000")
	}
	if s.node != "" {
		fmt.Fprintf(&s.b, "%-*s ", nodeColumn, words.Clean(s.node))
	}
	fmt.Fprintf(&s.b, "%*s ", timeColumn, at)
	if s.wide {
		fmt.Fprintf(&s.b, "%3d %-8s ", e.Sync, words.Clean(e.Goroutine))
	}
	if s.names {
		name := "(node)"
		if e.Pod != nil {
			name = FullName(e.Pod)
		}
		fmt.Fprintf(&s.b, "%-*s ", nameColumn, words.Clean(name))
	}
	s.b.WriteString(strings.Repeat("  ", s.depth[e.Span]) + mark + strings.TrimRight(text, " ") + "\n")
}

// stepText writes a step that was left: its name, how long it took, and what went wrong.
func stepText(e *probes.Event) string {
	text := words.Clean(e.Step)
	if e.DurationNs > 0 {
		text += "  " + words.Measured(time.Duration(e.DurationNs))
	}
	if e.Error != "" {
		text += "  error: " + words.Clean(e.Error)
	}
	return text
}

func noteText(e *probes.Event) string {
	var text string
	switch e.Kind {
	case probes.Held:
		text = "held at " + e.Step
	case probes.Released:
		text = "goes on from " + e.Step
		if e.DurationNs > 0 {
			text += " after " + words.Measured(time.Duration(e.DurationNs))
		}
		if why := reason.Released(e.Fields).En; why != "" {
			text += ": " + why
		}
	case probes.Fault:
		text = "fault at " + e.Step
	case probes.Drop:
		text = strings.TrimSuffix("events were lost: "+e.Lost(), ": ")
		return words.Clean(text)
	default:
		if e.Fields["note"] == agentpb.NoteLog { // its values follow
			return words.Clean(fmt.Sprintf("breakpoint %v: %s", e.Fields["breakpoint"], stepText(e)))
		}
		text = strings.TrimRight(string(e.Kind)+" "+e.Step, " ")
		if note := reason.Note(e.Fields).En; note != "" {
			text += ": " + note
		}
		if _, is := e.Sight(); is {
			text = e.Step + " is " + reason.Sight(e.Probe).En
		}
	}
	if e.Error != "" {
		text += ": " + e.Error
	}
	return words.Clean(text)
}

// inWords returns the fields of an event that noteText puts into words.
func inWords(e *probes.Event) []string {
	switch e.Kind {
	case probes.Released:
		return []string{"reason", "timer"}
	case probes.Note:
		return reason.NoteFields(e.Fields)
	}
	return nil
}

// withoutWorded returns an event without the fields that noteText has put into words.
func withoutWorded(e *probes.Event) *probes.Event {
	out := *e
	out.Fields = maps.Clone(e.Fields)
	for _, name := range inWords(e) {
		delete(out.Fields, name)
	}
	return &out
}

// fields writes the fields of the events of one line: of an enter, and then of its exit.
func (s *Story) fields(events ...*probes.Event) string {
	var b strings.Builder
	for _, e := range events {
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			if name == probes.FieldEndUnseen { // a line without a duration shows it
				continue
			}
			fmt.Fprintf(&b, "  %s=%s", words.Clean(name), FieldText(e.Fields[name], s.wide))
		}
	}
	return b.String()
}

// fieldWidth is where values are cut unless -o wide asks for all of them.
const fieldWidth = 60

// FieldText writes the value of a field in one line.
func FieldText(v any, whole bool) string {
	var text string
	switch v := v.(type) {
	case probes.RawJSON:
		var b bytes.Buffer
		if json.Compact(&b, v) != nil {
			b.Reset()
			b.Write(v)
		}
		text = b.String()
	case nil:
		text = "-"
	default:
		text = fmt.Sprint(v)
	}
	text = words.Clean(text)
	if _, isText := v.(string); isText && (text == "" || strings.ContainsAny(text, ` "`)) {
		text = `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`
	}
	if runes := []rune(text); !whole && len(runes) > fieldWidth {
		return string(runes[:fieldWidth-3]) + "..."
	}
	return text
}
