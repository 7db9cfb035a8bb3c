package screen

import (
	"github.com/podstep/podstep/probes/words"
)

// Screen is all that one frame shows. A nil pointer and an empty list are not drawn.
type Screen struct {
	Lang   words.Lang
	Header Header
	// Crumbs say where the reader is, outermost first: node, pod, sync, step.
	Crumbs []string
	// Main is the view that the main pane shows. Focus is the pane that has the keys.
	Main  Main
	Focus Pane
	// Zoom shows the focused pane alone.
	Zoom bool
	// Split is the share of the pod list in the width, in percent. Zero: the share depends on the size.
	Split int

	Pods   PodList
	Body   Body // what the main pane shows
	Detail *Detail
	Why    Why

	// Hold is the banner that is shown at every size while a pod is held.
	Hold *HoldBanner
	// Tour is the card of the present guided walk.
	Tour *TourCard
	// Input is the line that is being typed: a filter, a search, a name.
	Input *Input
	// Finding is the text that is looked for; nil if none is.
	Finding *Finding
	// Notice reports what a key did, or an error.
	Notice *Notice
	// Hints are the footer's, most important first. Help is always last.
	Hints []Hint
	// Over is a dialog, palette, help page or tour list on top of the rest.
	Over *Overlay
}

// Main names a view that the main pane can show. Each name stands next to the type of the view's body.
type Main string

// Body is what a view shows.
type Body interface {
	// Copied returns the selected row as text; empty if the row has nothing but its pod.
	Copied() string
}

// Pane names a part of the screen that can have the keys.
type Pane int

const (
	PanePods Pane = iota
	PaneMain
	PaneDetail
)

// Sizes says how many rows fit into the panes, and how wide the main pane is.
type Sizes struct {
	Pods, Main, Detail int
	Width              int
}

// ThemeNames are the names of the themes. The first one waits for the terminal to report its background. The others
// are the themes of package view, in its order.
var ThemeNames = []string{"auto", "dark", "light", "high-contrast", "deuteranopia", "terminal"}
