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
	// Top is the place of the first row in the whole list, and Total the length of the whole list.
	Top, Total int
	// Cursor is the index of the selected pod in Rows, -1 if it is not there.
	Cursor int
	// Empty says why the list is empty.
	Empty string
	// While there is a filter, Of is how many pods there are and Match how many of them it selects. Without a filter
	// both are zero.
	Match, Of int
	// Marked is how many pods are marked.
	Marked int
	// Hidden is how many pods that are gone the list leaves out.
	Hidden int
	// Namespace is how wide the longest namespace of the list is, in cells; 0: all its pods are of one namespace.
	Namespace int
	// Sort is the order of the rows.
	Sort PodSort
	// Columns are the columns that each pod has beside its name and its state.
	Columns []PodColumn
}

// PodSort is an order of the list of pods.
type PodSort string

// The orders. The usual one puts the pods that need a look at the top.
const (
	SortWorst    PodSort = "worst"
	SortName     PodSort = "name"
	SortNewest   PodSort = "newest" // by the time when podstep saw them first
	SortRestarts PodSort = "restarts"
)

// PodSorts lists all orders, the usual one first.
var PodSorts = []PodSort{SortWorst, SortName, SortNewest, SortRestarts}

// PodColumn is a column of the list of pods that a person can choose.
type PodColumn string

// The columns.
const (
	ColumnNamespace PodColumn = "namespace"
	ColumnStep      PodColumn = "step"
	ColumnRestarts  PodColumn = "restarts"
	ColumnSeen      PodColumn = "seen" // how long podstep has known the pod
)

// PodColumns are all columns. UsualColumns are shown if nobody chooses.
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
	// Word names the mark: held, stuck, retry, working, and so on.
	Word string
	// Bad: the pod is done, and ended badly: it failed, was refused or evicted.
	Bad bool
	// For is how long the pod has been in its state. For a held pod the list shows Left instead.
	For time.Duration
	// Left is the time until a held pod goes on by itself.
	Left time.Duration
	// Where is the step in words: "sandbox", "volumes".
	Where string
	// Seen is how long podstep has known the pod. Restarts is how often its containers were started again, -1 if no
	// source has reported that.
	Seen     time.Duration
	Restarts int
	// Marked: the pod is one of those on which keys act together.
	Marked bool
	// Line is the sentence in the second line of a pod that is in trouble.
	Line string
}
