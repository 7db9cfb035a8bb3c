package state

import (
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Screen is all that one frame shows, worked out and in the reader's language.
// Package view only lays it out and draws it. A pointer that is nil and a list
// that is empty are not drawn. Lists hold the rows that fit, not all.
type Screen struct {
	Lang   words.Lang
	Header Header
	// Crumbs say where the reader is, outermost first: node, pod, sync, step.
	Crumbs []string
	// Main is what the main pane shows, Focus the pane that has the keys.
	Main  Main
	Focus Pane
	// Zoom shows the focused pane alone.
	Zoom bool
	// Split is the share of the pod list in the width, in percent. Zero: by size.
	Split int

	Pods     PodList
	Story    *Story
	Detail   *Detail
	Timeline *Timeline
	Events   *EventList
	Breaks   *BreakList
	Why      Why

	// Hold is the banner that is pinned at every size while a pod is held.
	Hold *HoldBanner
	// Tour is the card of the guided walk that is on.
	Tour *TourCard
	// Input is the line that is being typed: a filter, a search, a name.
	Input *Input
	// Notice is the last thing that happened because of a key, or an error.
	Notice *Notice
	// Hints are the footer's, most important first. Help is always the last.
	Hints []Hint
	// Over is a dialog, palette, help page or tour list on top of the rest.
	Over *Overlay
}

// Main names what the main pane shows.
type Main int

const (
	MainStory Main = iota
	MainTimeline
	MainEvents
	MainBreaks
)

// Pane names a part of the screen that can have the keys.
type Pane int

const (
	PanePods Pane = iota
	PaneMain
	PaneDetail
)

// Link is how the session is connected.
type Link int

const (
	LinkLive Link = iota
	LinkConnecting
	LinkReconnecting
	LinkReplay
	LinkEnded
)

// Header is the top line.
type Header struct {
	Link Link
	// LinkText says it in a word or two: "live", "reconnecting 2s",
	// "replay 00:12/01:40".
	LinkText string
	// At and Of are the position in a trace file and its length, both zero on a
	// live node: what the scrub line under the header shows.
	At, Of time.Duration
	Frozen bool
	// Recording is the file that the session is recorded to.
	Recording string
	Node      string
	Kubelet   string // version
	Probe     string // woven, cri, ...
	Attached  bool   // the probe stands beside the kubelet, not in it
	Lab       bool   // the node is one person's lab
	// Blind says what the probe cannot see, empty if nothing.
	Blind string
	// Counts of pods by state, for the header: all, stuck, retrying, held.
	Pods, Stuck, Retrying, Held int
	// Dropped events, and what of.
	Dropped uint64
	// Filter is the filter that is on.
	Filter string
}

// PodKey identifies a pod of a session: the agent's number for it.
type PodKey uint32

// PodList is the list of pods.
type PodList struct {
	Rows []PodRow
	// Top is the place of the first row in the whole list, Total its length.
	Top, Total int
	// Cursor is the place of the selected one in Rows, -1 if it is not there.
	Cursor int
	// Empty says why there is none.
	Empty string
}

// PodRow is one pod of the list.
type PodRow struct {
	Key       PodKey
	Namespace string
	Name      string
	UID       string
	Mark      life.State
	// Word names the mark: held, stuck, retry, working, ...
	Word string
	// For is how long it has been so; of a held pod Left is shown instead.
	For time.Duration
	// Left is until a held pod goes on by itself.
	Left time.Duration
	// Where is the step, in words: "sandbox", "volumes".
	Where string
	// Line is one sentence for the second line of a pod that is in trouble.
	Line string
}

// Story is the pipeline of one pod: every step in order, nested.
type Story struct {
	Pod PodRow
	// Title is what the pod's worker does: "create, sync 2".
	Title string
	// Took is how long the pod has been on its way: until Ready, until gone,
	// or until now.
	Took time.Duration
	Rows []Row
	// Top is the place of the first row in the whole story, Total its length.
	Top, Total int
	// Cursor is the place of the selected row in Rows, -1 if it is not there.
	Cursor int
	// Follow is set while the selection goes with the current step.
	Follow bool
	// Newer counts events that came since the story was frozen or scrolled.
	Newer int
	Empty string
}

// RowKind is what a row of a story is.
type RowKind int

const (
	// RowChapter: creation, running, termination.
	RowChapter RowKind = iota
	// RowStage: a stage before or after the worker: source, merge, admit.
	RowStage
	// RowSync: one turn of the pod's worker.
	RowSync
	// RowStep: a step that was seen.
	RowStep
	// RowExpected: a step that is expected next, by the kind of sync it is in.
	RowExpected
	// RowFolded: several tries or turns in one row.
	RowFolded
	// RowNote: a hold, a release, an injected fault, a loss.
	RowNote
)

// RowMark is how far a row is.
type RowMark int

const (
	RowDone RowMark = iota
	RowFailed
	RowCurrent
	RowHeld
	RowToCome
	RowUnseen // the probe cannot see it; Err says why
	RowWaits  // backing off until the next try
	RowSaid   // a note
)

// Row is one line of a story.
type Row struct {
	// ID is the same for the same thing in every frame: what the cursor and
	// what is open are remembered by.
	ID   string
	Kind RowKind
	Mark RowMark
	// Depth is the nesting, from 0.
	Depth int
	// Step is the catalogue's name, empty for chapters and notes.
	Step string
	// Label is what the line calls it, Note what came of it.
	Label string
	Note  string
	// Error is what it failed with.
	Error string
	// Took is how long it took, or has taken so far. Zero with Mark RowToCome.
	Took time.Duration
	// At is when it began, since the beginning of the chapter.
	At time.Duration
	// Times is how many tries or turns are folded here.
	Times int
	// Left is what is left of a hold or of a backoff.
	Left time.Duration
	// Opens is set if there is something beneath, Open if it is shown.
	Opens, Open bool
	// Hidden counts quieter steps beneath that are left out until the row is
	// opened on purpose.
	Hidden int
	// Cursor is set on the selected row.
	Cursor bool
	// Span and Event find what the row stands for: the call, and the position
	// of its first event. Zero and -1 if there is none.
	Span  uint64
	Event int
	// CRI is set on calls to the runtime.
	CRI bool
	// From is who told it, of what is no call: api, kubelet, runtime.
	From string
}

// Detail is a step in full.
type Detail struct {
	Step  string
	Title string
	// Text says what the step is for.
	Text string
	// Place is file:line of the kubelet, Source the lines there, Mark the line
	// that is about to run or ran (an index into Source, -1 for none), First
	// the number of the first line.
	Place  string
	Source []string
	First  int
	Mark   int
	// Args and Results are the step's values in the kubelet's words.
	Args, Results []Value
	// Request and Response are a CRI call's, as lines of YAML.
	Request, Response []string
	Error             string
	Took              time.Duration
	// Began is the wall clock at its start.
	Began time.Time
	// Goroutine is whose goroutine it runs on.
	Goroutine string
	// Held says of a pod that is held here when it goes on by itself, and why.
	Held string
	// Hold says whether one may hold here, and what it costs: the timers.
	Hold string
	// Top is the first line that is shown, of Total lines as drawn.
	Top int
}

// Value is a named value.
type Value struct{ Name, Text string }

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

// EventList is the events, newest last.
type EventList struct {
	Rows []EventRow
	// Top is the position of the first row among those that match, Total how
	// many are known to match. More is set while older ones were not looked at.
	Top, Total int
	More       bool
	Cursor     int
	Follow     bool
	Newer      int
	Filter     string
	Empty      string
	// Offset is how many columns the rows are scrolled to the right.
	Offset int
}

// EventRow is one event.
type EventRow struct {
	// Pos is its position in the session: what a frozen list is pinned by.
	Pos   int
	Event probes.Event
	// Text is fields and error in one line.
	Text string
}

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

// Why is the one sentence why the selected pod is where it is.
type Why struct {
	Text string
	// Evidence is where that is seen, e.g. "kubelet event 1204".
	Evidence string
	Mark     life.State
}

// HoldBanner tells of the pods that are held.
type HoldBanner struct {
	// Count of held pods. What follows is of the selected one, or if that is not
	// held, of the one whose time ends first.
	Count    int
	Pod      string
	UID      string
	Selected bool // it is the selected pod
	Step     string
	On       string // enter or exit
	// Left is until it goes on by itself: before Timer runs out, or if there is
	// none, because its lease is over.
	Left  time.Duration
	Timer string
	// Free: no timer of the kubelet runs, so the hold costs nothing.
	Free bool
	// Node: the node stands still meanwhile.
	Node bool
}

// TourCard is the present stop of a guided walk.
type TourCard struct {
	// Title is the walk's, Heading that of the stop it is at.
	Title, Heading string
	// Stop of Stops, from 1.
	Stop, Stops int
	Text        string
	// Wait says what the tour waits for, or which key goes on.
	Wait string
	// Question, and Answer once it is shown.
	Question, Answer string
}

// Input is a line that is being typed.
type Input struct {
	Prompt string
	Text   string
	// Cursor is the place of the cursor in Text, in runes.
	Cursor int
	Error  string
	Help   string
}

// Notice is a message that stays until the next key or for a while.
type Notice struct {
	Text  string
	Error bool
}

// Hint is a key and what it does now.
type Hint struct {
	Key, Text string
	// Pod is whom it acts on, by name; empty if on no pod.
	Pod string
	// Off says why it does nothing now; empty if it does.
	Off string
}

// Overlay is something on top of the rest.
type Overlay struct {
	Kind  OverlayKind
	Title string
	// Text is what a dialog says or a page shows, one paragraph a line.
	Text []string
	// Input is the search line of a palette.
	Input *Input
	Items []Item
	// Top, Total and Cursor as in PodList.
	Top, Total, Cursor int
	// Buttons of a dialog; Cursor is the chosen one.
	Buttons []string
	// Armed is false while keys are ignored because they may not be meant for
	// the dialog that has just appeared.
	Armed  bool
	Danger bool
}

// OverlayKind is what is on top.
type OverlayKind int

const (
	OverDialog OverlayKind = iota
	OverPalette
	OverHelp
	OverTours
	OverPage
)

// Item is a line of a palette, of help, or of a list to choose from.
type Item struct {
	Group string
	Text  string
	Key   string
	// Off says why it cannot be chosen now.
	Off string
	// Match has the places in Text that match what was typed, in runes.
	Match []int
}

// Sizes says how many rows fit into the panes, and how wide the main one is.
type Sizes struct {
	Pods, Main, Detail int
	Width              int
}
