package screen

import (
	"time"
)

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
	// Refused says where it cannot act, and why.
	Refused string
}
