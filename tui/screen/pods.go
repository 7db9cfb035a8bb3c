package screen

import (
	"time"

	"github.com/podstep/podstep/agent/story/life"
)

// PodKey identifies a pod of a session: the agent's number for it.
type PodKey uint32

// PodList is the list of pods.
type PodList struct {
	Rows []PodRow
	// Top is the place of the first row in the whole list, Total its length.
	Top, Total int
	// Cursor is the place of the selected one in Rows, -1 if it is not there.
	Cursor int
	// Empty is why there is none.
	Empty string
	// Of is how many pods there are, and Match how many of them the filter selects,
	// while there is one; both zero: there is none.
	Match, Of int
	// Marked is how many pods are marked.
	Marked int
	// Sort is the order of the rows.
	Sort PodSort
	// Columns are what is said of each pod beside its name and how it is.
	Columns []PodColumn
}

// PodSort is an order of the list of pods.
type PodSort string

// The orders. The usual one has the pods that need a look at the top.
const (
	SortWorst    PodSort = "worst"
	SortName     PodSort = "name"
	SortNewest   PodSort = "newest" // by when podstep saw them first
	SortRestarts PodSort = "restarts"
)

// PodSorts are all orders, the usual one first.
var PodSorts = []PodSort{SortWorst, SortName, SortNewest, SortRestarts}

// PodColumn is something that the list of pods says of each if it is wanted.
type PodColumn string

// The columns.
const (
	ColumnNamespace PodColumn = "namespace"
	ColumnStep      PodColumn = "step"
	ColumnRestarts  PodColumn = "restarts"
	ColumnSeen      PodColumn = "seen" // for how long podstep knows the pod
)

// PodColumns are all columns, UsualColumns those that are shown if nobody chooses.
var (
	PodColumns   = []PodColumn{ColumnNamespace, ColumnStep, ColumnRestarts, ColumnSeen}
	UsualColumns = []PodColumn{ColumnNamespace, ColumnStep}
)

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
	// Seen is for how long it is known, Restarts how often its containers were started
	// again, -1 if nobody has said.
	Seen     time.Duration
	Restarts int
	// Marked: it is one of several that keys act on.
	Marked bool
	// Line is one sentence for the second line of a pod that is in trouble.
	Line string
}
