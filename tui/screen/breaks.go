package screen

import (
	"time"

	"github.com/podstep/podstep/probes/words"
)

// MainBreaks is the list of breakpoints.
const MainBreaks Main = "breakpoints"

// BreaksName is what the list of breakpoints is called.
var BreaksName = words.Text("Breakpoints", "断点")

// BreakList is the breakpoints.
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
	// Refused is where it cannot act, and why.
	Refused string
}

// Breaks is the body of the screen if it is one, else nil.
func (s *Screen) Breaks() *BreakList {
	b, _ := s.Body.(*BreakList)
	return b
}

// Copied is empty: a breakpoint is not copied.
func (*BreakList) Copied() string { return "" }
