package view

import "github.com/podstep/podstep/tui/screen"

// TargetKind is what the mouse points at.
type TargetKind int

const (
	// OnPane is a pane, outside its rows. Every place of a pane has it, for the
	// wheel.
	OnPane TargetKind = iota
	OnPod
	OnRow
	OnFold // the arrow of a row that opens
	OnBar
	OnEvent
	OnBreak
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

// Target is what the mouse points at. Only what its kind has is set.
type Target struct {
	Kind TargetKind
	Pane screen.Pane
	Main screen.Main
	Pod  screen.PodKey
	// ID is that of a row or a bar, or the key of a hint.
	ID string
	// Index is the place of an event in the session, of a breakpoint its number,
	// of a crumb, button or item its place in the list.
	Index int
}

// zone is where a target is.
type zone struct {
	Rect
	Target
}

// zone notes where a target is. What is noted later is on top.
func (f *frame) zone(r Rect, t Target) {
	if !r.empty() {
		f.zones = append(f.zones, zone{r, t})
	}
}

// Hit reports what is at a place of the screen.
func Hit(s *screen.Screen, st *Styles, x, y int) (Target, bool) {
	f := drawn(s, st)
	for i := len(f.zones) - 1; i >= 0; i-- {
		if f.zones[i].has(x, y) {
			return f.zones[i].Target, true
		}
	}
	return Target{}, false
}
