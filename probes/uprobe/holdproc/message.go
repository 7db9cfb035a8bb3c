package holdproc

import (
	"time"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// Options state what the hold process is to do.
type Options struct {
	// PID and Started are the kubelet's. Started is the time of its start in the kernel's clock ticks; 0: any. A
	// process that got the same number later has another.
	PID     int
	Started uint64
	// NotWithin are functions that must not be under way on a goroutine that is held, in addition to those of the
	// place.
	NotWithin []string
	// Packages are the packages of which it is known which functions have a lock. A goroutine is not held while a
	// function of another package is under way around the place's function.
	Packages map[string]bool
}

// Place is a place at which pods are to be held.
type Place struct {
	// Address is that of the probed instruction, as the program was linked.
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
	// Stood is how long its thread stood still to be parked, from when the hold process noticed its stop.
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

// Stats state what the hold process has done since it was started.
type Stats struct {
	// Stops counts the times that a thread of the kubelet stood still, for whatever reason. Stood is how long that
	// was in all, and Worst at most, from when each stop was noticed.
	Stops        uint64
	Stood, Worst time.Duration
}

// NotWithin is the reason why a goroutine that may not be held at the place is not held. NotKnown is the reason why one
// is not held that may have a lock. The other reasons are package park's.
const (
	NotWithin park.Reason = "not within"
	NotKnown  park.Reason = "not known"
)

// message is a message of the link. One of its fields is set. podstep sends those up to Leave, the hold process the
// others.
type message struct {
	Options *Options
	Arm     *arm
	LetGo   uint64
	Renew   *renewal
	Leave   bool

	Ready   *ready
	Failed  string
	Armed   *armed
	Held    *Held
	Refused *Refused
	Ended   *Ended
}

// arm has the places that are armed from then on. The hold process answers with the number.
type arm struct {
	Number uint64
	Places []Place
}

// armed answers arm.
type armed struct {
	Number uint64
	// Refused has, by address, the places at which no goroutine can be held.
	Refused map[uint64]park.RefusedError
	// Err is the reason why no place is armed; empty: the places are armed.
	Err   string
	Stats Stats
}

type renewal struct {
	Hold  uint64
	Lease time.Duration
}

// ready reports that the hold process knows the program.
type ready struct {
	PID int
	Go  string
}
