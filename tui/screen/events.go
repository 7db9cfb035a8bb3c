package screen

import (
	"strings"

	"github.com/podstep/podstep/probes"

	"github.com/podstep/podstep/probes/words"
)

// MainEvents is the list of all events.
const MainEvents Main = "events"

// EventsName is the name of the list of events.
var EventsName = words.Text("Events", "事件")

// EventList is the events, newest last.
type EventList struct {
	Rows []EventRow
	// Top is the position of the first row among the events that match, and Total how many events are known to
	// match. More is set while older events were not looked at.
	Top, Total int
	More       bool
	Cursor     int
	Follow     bool
	Newer      int
	Filter     string
	// Of names the pod, or the node, whose events are listed; empty: the events of all.
	Of    string
	Empty string
	// Offset is how many columns the rows are scrolled to the right.
	Offset int
}

// EventRow is one event.
type EventRow struct {
	// Pos is the event's position in the session. It pins a frozen list.
	Pos   int
	Event probes.Event
	// Text has the fields and the error in one line.
	Text string
	// Marked: a person has set a bookmark at it.
	Marked bool
}

// Events returns the body of the screen if it is a list of events, else nil.
func (s *Screen) Events() *EventList {
	b, _ := s.Body.(*EventList)
	return b
}

// Copied returns step, kind and text of the selected event.
func (l *EventList) Copied() string {
	if l.Cursor < 0 || l.Cursor >= len(l.Rows) {
		return ""
	}
	r := &l.Rows[l.Cursor]
	return strings.TrimSpace(r.Event.Step + " " + string(r.Event.Kind) + " " + r.Text)
}
