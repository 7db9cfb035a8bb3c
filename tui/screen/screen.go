package screen

import (
	"github.com/podstep/podstep/probes/words"
)

// Screen is all that one frame shows. A pointer that is nil and a list that is
// empty are not drawn.
type Screen struct {
	Lang   words.Lang
	Header Header
	// Crumbs are where the reader is, outermost first: node, pod, sync, step.
	Crumbs []string
	// Main is the view that the main pane shows, Focus the pane that has the keys.
	Main  Main
	Focus Pane
	// Zoom shows the focused pane alone.
	Zoom bool
	// Split is the share of the pod list in the width, in percent. Zero: by size.
	Split int

	Pods   PodList
	Body   Body // what the main pane shows
	Detail *Detail
	Why    Why

	// Hold is the banner that is pinned at every size while a pod is held.
	Hold *HoldBanner
	// Tour is the card of the guided walk that is on.
	Tour *TourCard
	// Input is the line that is being typed: a filter, a search, a name.
	Input *Input
	// Finding is what is looked for, nil if nothing is.
	Finding *Finding
	// Notice is the last thing that happened because of a key, or an error.
	Notice *Notice
	// Hints are the footer's, most important first. Help is always the last.
	Hints []Hint
	// Over is a dialog, palette, help page or tour list on top of the rest.
	Over *Overlay
}

// Main names a view: one of the things that the main pane can show. Each has its
// name next to the type of its body.
type Main string

// Body is what a view shows.
type Body interface {
	// Copied is the selected row as text, empty if it is no more than its pod.
	Copied() string
}

// Pane names a part of the screen that can have the keys.
type Pane int

const (
	PanePods Pane = iota
	PaneMain
	PaneDetail
)

// Sizes states how many rows fit into the panes, and how wide the main one is.
type Sizes struct {
	Pods, Main, Detail int
	Width              int
}

// ThemeNames are the names of the themes. The first one waits for the terminal to
// report its ground, the others are those of package view, in its order.
var ThemeNames = []string{"auto", "dark", "light", "high-contrast", "deuteranopia", "terminal"}
