package view

import "github.com/podstep/podstep/tui/screen"

// TargetKind says what the mouse points at.
type TargetKind int

const (
	// OnPane is a pane, outside its rows. Every place of a pane belongs to it, too, for the wheel.
	OnPane TargetKind = iota
	OnPod
	OnRow
	OnFold // the arrow of a row that opens
	OnBar
	OnEvent
	OnBreak
	OnTop // a step with its durations
	OnHint
	OnButton
	OnItem
	OnMain // the name of a view
	OnCrumb
	OnHold // the banner
	OnTour
	OnDivider
	OnOver    // a dialog, outside its buttons
	OnOutside // outside the dialog that is on top
)

// Target is the thing that the mouse points at. Only the fields of its kind are set.
type Target struct {
	Kind TargetKind
	Pane screen.Pane
	Main screen.Main
	Pod  screen.PodKey
	// ID identifies a row or a bar. For a hint it is the key, for a step with its durations the step.
	ID string
	// Index is the place of an event in the session, or the number of a breakpoint. For a crumb, a button or an item
	// it is the place in the list.
	Index int
}

// zone is the place of a target.
type zone struct {
	Rect
	Target
}

// zone notes the place of a target. A target that is noted later lies on top.
func (f *frame) zone(r Rect, t Target) {
	if !r.empty() {
		f.zones = append(f.zones, zone{r, t})
	}
}

// Hit returns the target at a place of the screen.
func Hit(s *screen.Screen, st *Styles, x, y int) (Target, bool) {
	return drawn(s, st).hit(x, y)
}

func (f *frame) hit(x, y int) (Target, bool) {
	for i := len(f.zones) - 1; i >= 0; i-- {
		if f.zones[i].has(x, y) {
			return f.zones[i].Target, true
		}
	}
	return Target{}, false
}
