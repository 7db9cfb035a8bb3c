package screen

import (
	"time"

	"github.com/podstep/podstep/probes/words"
)

// MainBreaks is the list of breakpoints.
const MainBreaks Main = "breakpoints"

// BreaksName is the name of the list of breakpoints.
var BreaksName = words.Text("Breakpoints", "断点")

// BreakList is the list of breakpoints.
type BreakList struct {
	Rows   []BreakRow
	Cursor int
	Empty  string
}

// BreakRow is one breakpoint.
type BreakRow struct {
	ID      uint32
	Pods    string
	Steps   string
	When    string // enter, exit, error, slower than 2s
	Action  string
	Hits    uint32
	Expires time.Duration
	// Counted says how often a log has logged, and how often there was no room; empty: nothing is to be said.
	Counted string
	// Refused says where the breakpoint cannot act, and why.
	Refused string
}

// Breaks returns the body of the screen if it is a list of breakpoints, else nil.
func (s *Screen) Breaks() *BreakList {
	b, _ := s.Body.(*BreakList)
	return b
}

// Copied returns nothing: a breakpoint is not copied.
func (*BreakList) Copied() string { return "" }
