package screen

import (
	"time"

	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes/words"
)

// MainTop is the view that shows how long the calls of each step take.
const MainTop Main = "top"

// TopName is the name of that view.
var TopName = words.Text("Durations", "耗时")

// Top is the steps with their durations.
type Top struct {
	Rows []TopRow
	// Top, Total and Cursor are as in Story.
	Top, Total, Cursor int
	Order              spread.Order
	// Seen is the time over which events were seen.
	Seen time.Duration
	// Of names the pod, or the node, whose calls are shown; empty: those of all.
	Of    string
	Empty string
}

// TopRow is one step. Its durations have no meaning if Calls is zero.
type TopRow struct {
	Step, Title        string
	Calls, Errors      int
	PerMinute, Share   float64
	P50, P90, P99, Max time.Duration
	// Worst names the pod of the call that took longest, or the node.
	Worst string
	// Open is how many calls go on, and Longest how long the oldest of them has gone on.
	Open    int
	Longest time.Duration
	Heat    [spread.HeatBins]int
}

// Top returns the body of the screen if it is a list of durations, else nil.
func (s *Screen) Top() *Top {
	t, _ := s.Body.(*Top)
	return t
}

// Copied returns the selected step with its durations.
func (t *Top) Copied() string {
	if t.Cursor < 0 || t.Cursor >= len(t.Rows) {
		return ""
	}
	r := &t.Rows[t.Cursor]
	if r.Calls == 0 {
		return r.Step
	}
	return r.Step + " p50 " + words.Measured(r.P50) + " p99 " + words.Measured(r.P99) + " max " + words.Measured(r.Max) + " " + r.Worst
}
