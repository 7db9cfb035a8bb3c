// Package inside has the words for what goes on inside a kubelet that nobody rebuilt, whoever looks and holds there: the
// program in the kernel with the hold process, or Delve. What both do to the kubelet's process is below it: packages pclntab
// and gocode find places in its code, reading reads values there, goproc knows a Go process, ptrace traces its threads, and
// park makes one goroutine wait.
package inside

import (
	"time"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside/park"
)

// Place is a place at which pods are to be held.
type Place struct {
	// Address is the address of the probed instruction, as the program was linked.
	Address uint64
	// Within are functions: a goroutine is held if one of them is under way around the place's function. If there are
	// none, any goroutine is held. NotWithin are functions that must not be under way between the two.
	Within, NotWithin []string
	// Lease is how long a goroutine is held if nobody renews its hold.
	Lease time.Duration
}

// Held is a goroutine that was parked.
type Held struct {
	// Hold is the number of the hold.
	Hold uint64
	TID  int
	// G is the address of the goroutine's g. Goroutine is its number.
	G, Goroutine uint64
	// Place is the address of the armed place. Functions are the functions under way on the goroutine, the innermost
	// first.
	Place     uint64
	Functions []string
	// At is when it was parked. Until is when the lease ends.
	At, Until clock.Time
	// Whole: the whole program stands still for the hold, not this goroutine alone.
	Whole bool
	// Stood is how long its thread stood still to be parked, from when its tracer noticed the stop.
	Stood time.Duration
}

// Refused is a goroutine that was at an armed place and was not held.
type Refused struct {
	TID int
	// Goroutine is the goroutine's number; 0: it cannot be read.
	Goroutine uint64
	Place     uint64
	Functions []string
	Reason    park.Reason
	Text      string
	At        clock.Time
	Stood     time.Duration
}

// The reasons why a goroutine is not held, besides those of package park.
const (
	// NotWithin: the place's rule does not allow this goroutine.
	NotWithin park.Reason = "not within"
	// NotKnown: the goroutine may have a lock.
	NotKnown park.Reason = "not known"
)

// End is how a hold ended.
type End string

// The ways in which a hold ends.
const (
	// LeaseOver: nobody renewed it.
	LeaseOver End = "lease over"
	// LetGo: podstep, or another process by a signal, let the goroutine go.
	LetGo End = "let go"
	// Interrupted: the goroutine went on before its time, for an unknown reason.
	Interrupted End = "interrupted"
	// ProgramGone: the program has ended, or the process runs another one.
	ProgramGone End = "program gone"
)

// Ended reports that a hold has ended.
type Ended struct {
	Hold uint64
	How  End
	At   clock.Time
}
