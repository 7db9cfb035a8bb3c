package screen

import (
	"github.com/podstep/podstep/probes"
)

// EventList is the events, newest last.
type EventList struct {
	Rows []EventRow
	// Top is the position of the first row among those that match, Total how
	// many are known to match. More is set while older ones were not looked at.
	Top, Total int
	More       bool
	Cursor     int
	Follow     bool
	Newer      int
	Filter     string
	Empty      string
	// Offset is how many columns the rows are scrolled to the right.
	Offset int
}

// EventRow is one event.
type EventRow struct {
	// Pos is its position in the session: what a frozen list is pinned by.
	Pos   int
	Event probes.Event
	// Text is fields and error in one line.
	Text string
}
