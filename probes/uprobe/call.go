//go:build linux

package uprobe

import (
	"time"

	"github.com/podstep/podstep/probes"
)

// Call is a call of a step's function.
type Call struct {
	Step *probes.Step
	At   time.Time
	// Values are those that woven code would give: the pod, as probes.PodRef, a uid or an
	// id of the runtime, or lists of pods; then the fields. What could not be read is nil.
	Values []any
	// Goroutine is the number of the goroutine, and Parent the call in which this one
	// happens, on this goroutine or on the one that started it.
	Goroutine uint64
	Parent    *Call
	// Line is the line from which the function of Parent's step made the call, on the same
	// goroutine; zero: it is not known.
	Line uint32
	// Worker: the goroutine is that of a pod's worker.
	Worker bool
	// Stopped is the stop that the program has asked for as the call began or, at its end,
	// ended; nil: none.
	Stopped *Stop
	// State is the handler's own.
	State any

	depth uint64
	ended bool
	lost  uint64 // records that were lost before it began
	high  uint64 // the highest number of a goroutine that was seen before
}

// uid is the uid of the pod that the call is about; empty: it is not known, or there are several.
func (c *Call) uid() string {
	if len(c.Values) == 0 {
		return ""
	}
	if p, ok := c.Values[0].(probes.PodRef); ok {
		return p.UID
	}
	return ""
}

// Stop is that a thread was signalled at a place.
type Stop struct {
	TID int
	// Place is the address of the place, as the program was linked.
	Place uint64
}

// stopOf is the stop that a record asks for.
func stopOf(r *record, at *planned) *Stop {
	if r.Flags&recordSignalled == 0 {
		return nil
	}
	return &Stop{TID: int(r.TID), Place: at.at}
}

// Handler is given what the probe sees, in the order in which it happens on each goroutine,
// by one goroutine.
type Handler interface {
	// Enter reports that a call has begun, Exit that it has ended: the values are those that
	// woven code gives at the exit, the first whether the call is quiet.
	Enter(*Call)
	Exit(c *Call, at time.Time, err error, values []any)
	// Lost reports how many records found no room.
	Lost(n int)
	// Refused reports that calls of a step are not shown from now on, because what is read
	// there cannot be right.
	Refused(s *probes.Step, why string)
}
