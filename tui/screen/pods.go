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
