package screen

import (
	"time"

	"github.com/podstep/podstep/probes/words"
)

// MainTimeline is when calls were made, and how long they took.
const MainTimeline Main = "timeline"

// TimelineName is what the timeline is called.
var TimelineName = words.Text("Timeline", "时间线")

// Timeline is a waterfall of calls.
type Timeline struct {
	Bars []Bar
	// From and To are the ends of what is shown, since the agent began.
	From, To time.Duration
	// Now is the position of the present, for a mark.
	Now time.Duration
	// Top and Total as in Story; Cursor as well.
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
	// Parts are the calls of a fold, oldest first: what is drawn instead of the
	// whole. A fold is never critical.
	Parts []Part
	// Open: it has not ended yet.
	Open bool
	Mark RowMark
	// Critical: without it the whole would have been shorter.
	Critical bool
	Step     string
	Span     uint64
}

// Part is one call of a bar that stands for several.
type Part struct{ From, To time.Duration }

// Timeline is the body of the screen if it is one, else nil.
func (s *Screen) Timeline() *Timeline {
	b, _ := s.Body.(*Timeline)
	return b
}

// Copied is empty: a bar is not copied.
func (*Timeline) Copied() string { return "" }
