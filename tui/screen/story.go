package screen

import (
	"strings"
	"time"

	"github.com/podstep/podstep/probes/words"
)

// MainStory is the pipeline of the selected pod. It is shown if the person chooses nothing else.
const MainStory Main = ""

// StoryName is the name of the pipeline.
var StoryName = words.Text("Pipeline", "流水线")

// Story is the pipeline of one pod: every step in order, nested.
type Story struct {
	Pod PodRow
	// Title says what the pod's worker does: "create, sync 2".
	Title string
	// Took is how long the pod has been on its way: until it was Ready, until it was gone, or until now.
	Took time.Duration
	// Clock says in words what Took counts, such as "ready in 1.57 s"; empty: nothing is counted.
	Clock string
	Rows  []Row
	// Top is the place of the first row in the whole story, and Total the length of the whole story.
	Top, Total int
	// Cursor is the index of the selected row in Rows, -1 if it is not there.
	Cursor int
	// Follow is set while the selection goes with the current step.
	Follow bool
	// Newer counts events that came since the story was frozen or scrolled.
	Newer int
	Empty string
}

// RowKind is the kind of a row of a story.
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

// RowMark says how far a row has come.
type RowMark int

const (
	RowDone RowMark = iota
	RowFailed
	RowCurrent
	RowHeld
	RowToCome
	RowUnseen // the probe cannot see it; Error says why
	RowWaits  // failed; the worker tries again after Left
	RowNoted  // a note
)

// Row is one line of a story.
type Row struct {
	// ID is the same for the same thing in every frame. Podstep remembers by it where the cursor is and what is
	// open.
	ID   string
	Kind RowKind
	Mark RowMark
	// Depth is the nesting, from 0.
	Depth int
	// Step is the catalogue's name, empty for chapters and notes.
	Step string
	// Label is the name in the line, and Note the result.
	Label string
	Note  string
	// Error is the error that the call ended with.
	Error string
	// Took is how long the call took, or has taken so far. It is zero with Mark RowToCome.
	Took time.Duration
	// At is when the call began, counted from the beginning of the chapter.
	At time.Duration
	// Times is how many tries or turns are folded here.
	Times int
	// Left is the time that is left of a hold or of a backoff.
	Left time.Duration
	// Opens is set if there are rows beneath, and Open if they are shown.
	Opens, Open bool
	// Hidden is how many quieter steps beneath are left out until the person opens the row.
	Hidden int
	// Cursor is set on the selected row.
	Cursor bool
	// Point says what breakpoints do at the step.
	Point Point
	// Marked: a person has set a bookmark at it.
	Marked bool
	// Span is the call that the row stands for, and Event the position of its first event. They are zero and -1 if
	// there is none.
	Span  uint64
	Event int
	// CRI is set on calls to the runtime.
	CRI bool
	// From says who reported a row that is no call: api, kubelet, runtime.
	From string
}

// Story returns the body of the screen if it is a story, else nil.
func (s *Screen) Story() *Story {
	b, _ := s.Body.(*Story)
	return b
}

// Copied returns step, label, note and error of the selected row.
func (s *Story) Copied() string {
	if s.Cursor < 0 || s.Cursor >= len(s.Rows) {
		return ""
	}
	r := s.Rows[s.Cursor]
	return strings.TrimSpace(strings.Join([]string{r.Step, r.Label, r.Note, r.Error}, " "))
}
