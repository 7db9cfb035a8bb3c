package screen

import (
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// MainTimeline is the view that shows when calls were made, and how long they took.
const MainTimeline Main = "timeline"

// TimelineName is the name of the timeline.
var TimelineName = words.Text("Timeline", "时间线")

// Timeline is a waterfall of calls.
type Timeline struct {
	Bars []Bar
	// From and To are the ends of what is shown, counted from the agent's beginning.
	From, To time.Duration
	// Now is the present, where a mark stands.
	Now time.Duration
	// Top, Total and Cursor are as in Story.
	Top, Total, Cursor int
	// Many is set if several pods are shown.
	Many  bool
	Empty string
}

// Bar is one line of a timeline.
type Bar struct {
	ID    string
	Label string
	Depth int
	From  time.Duration
	To    time.Duration
	// Parts are the calls of a fold, oldest first. They are drawn instead of the whole. A fold is never critical.
	Parts []Part
	// Open: the call has not ended yet.
	Open bool
	Mark RowMark
	// Pod is the state of the pod of which the bar is the whole life; nil: the bar is no pod's.
	Pod *life.State
	// Critical: without this call the whole would have been shorter.
	Critical bool
	Step     string
	Span     uint64
}

// Part is one call of a bar that stands for several.
type Part struct{ From, To time.Duration }

// Timeline returns the body of the screen if it is a timeline, else nil.
func (s *Screen) Timeline() *Timeline {
	b, _ := s.Body.(*Timeline)
	return b
}

// Copied returns nothing: a bar is not copied.
func (*Timeline) Copied() string { return "" }
