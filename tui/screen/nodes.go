package screen

import (
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// Nodes is the list of the pods of several nodes, the first screen if there are several.
type Nodes struct {
	Lang  words.Lang
	Title string
	// Rows are those in view. Top is the place of the first one in the whole list, and Total the length of that.
	Rows       []NodesRow
	Top, Total int
	// Cursor is the index of the selected row in Rows, -1 if it is not there.
	Cursor int
	// Empty says why the list is empty.
	Empty  string
	Input  *Input
	Notice *Notice
	// Over is what is on top of the list; nil: nothing.
	Over *Overlay
	// Hints are the keys that do something. The last one is drawn at the end of the line.
	Hints []Hint
}

// NodesRow is a row of the list: the head of a group, or a pod in it.
type NodesRow struct {
	// Head begins a group. Bad marks the head of a node that does not answer.
	Head, Bad bool
	Mark      life.State
	// Stale: the node does not answer, and the row is as it was before.
	Stale bool
	Name  string
	// Where is what stands behind the name, if there is room, and State what stands at the end of the row.
	Where, State string
}
