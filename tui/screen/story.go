package screen

import (
	"strings"
	"time"

	"github.com/podstep/podstep/probes/words"
)

// MainStory is the pipeline of the selected pod: what is shown if nothing else is
// chosen.
const MainStory Main = ""

// StoryName is what the pipeline is called.
var StoryName = words.Text("Pipeline", "流水线")

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
	RowWaits  // failed, and the worker comes again after Left
	RowNoted  // a note
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
	// Marked: a person has set a bookmark at it.
	Marked bool
	// Span and Event find what the row stands for: the call, and the position
	// of its first event. Zero and -1 if there is none.
	Span  uint64
	Event int
	// CRI is set on calls to the runtime.
	CRI bool
	// From is who reported it, of what is no call: api, kubelet, runtime.
	From string
}

// Story is the body of the screen if it is one, else nil.
func (s *Screen) Story() *Story {
	b, _ := s.Body.(*Story)
	return b
}

// Copied is step, label, note and error of the selected row.
func (s *Story) Copied() string {
	if s.Cursor < 0 || s.Cursor >= len(s.Rows) {
		return ""
	}
	r := s.Rows[s.Cursor]
	return strings.TrimSpace(strings.Join([]string{r.Step, r.Label, r.Note, r.Error}, " "))
}
