//go:build linux

package uprobe

import (
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside/reading"
)

// Call is a call of a step's function.
type Call struct {
	Step *probes.Step
	At   time.Time
	// Values are those that woven code would give: first the pod, as a probes.PodRef, a uid, an id of the runtime, or
	// lists of pods; then the fields. A value that could not be read is nil.
	Values []any
	// Goroutine is the goroutine's number. Parent is the call in which this one happens, on this goroutine or on the
	// one that started it.
	Goroutine uint64
	Parent    *Call
	// Line is the line from which Parent's function made the call, if it did so on the same goroutine. 0: it is not
	// known.
	Line uint32
	// Worker: the goroutine is a pod's worker.
	Worker bool
	// Stopped is the stop that the program asked for at the call's begin or, in Handler.Exit, at its end; nil: none.
	Stopped *Stop
	// Closely: the call is seen because the probe looks closely.
	Closely bool
	// State is for the handler's use.
	State any

	depth uint64
	ended bool
	lost  uint64 // records that were lost before it began
	high  uint64 // the highest number of a goroutine that was seen by then
	// unwatched: the probe looks at the step no more, so that the call's end may not be seen.
	unwatched bool
}

// uid returns the uid of the pod that the call is about. It is empty if it is not known, or if there are several
// pods.
func (c *Call) uid() string {
	if len(c.Values) == 0 {
		return ""
	}
	if p, ok := c.Values[0].(probes.PodRef); ok {
		return p.UID
	}
	return ""
}

// Stop is the stop of a thread that was signalled at a place.
type Stop struct {
	TID int
	// Place is the address of the place, as the program was linked. Goroutine is the goroutine's number.
	Place, Goroutine uint64
	// At is when the thread came there.
	At clock.Time
}

// stopOf returns the stop that a record asks for, or nil.
func stopOf(r *reading.Record, at *planned) *Stop {
	if r.Flags&reading.FlagSignalled == 0 {
		return nil
	}
	return &Stop{TID: int(r.TID), Place: at.at, Goroutine: r.Goid, At: clock.Time(r.Time)}
}

// Handler gets the calls that the probe sees, from one goroutine. Those of one goroutine of the kubelet come in their
// order.
type Handler interface {
	// Enter reports that a call has begun, Exit that it has ended. values are those that woven code gives at the
	// exit: the first is whether the call is quiet.
	Enter(*Call)
	Exit(c *Call, at time.Time, err error, values []any)
	// Lost reports how many records found no room.
	Lost(n int)
	// Refused reports that a step's calls are not shown from now on, because the values that are read there cannot be
	// right.
	Refused(s *probes.Step, why string)
}
