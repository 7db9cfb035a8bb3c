package holdproc

import (
	"time"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// Options are what the hold process is to do.
type Options struct {
	// PID and Started are the kubelet's. Started is when it was started, in the kernel's
	// clock ticks: a process that got the same number later has another. 0 is any.
	PID     int
	Started uint64
	// NotWithin are functions that must not be under way where a goroutine is held, in addition
	// to those of the place.
	NotWithin []string
}

// Place is where pods are to be held.
type Place struct {
	// Address is that of the probed instruction, as the program was linked.
	Address uint64
	// Within are functions of which one has to be under way below the place's on the
	// goroutine; none: any goroutine is held. NotWithin are functions that must not be under
	// way between the two.
	Within, NotWithin []string
	// Lease is how long a goroutine is held that nobody renews.
	Lease time.Duration
}

// Held is a goroutine that was parked.
type Held struct {
	// Hold is the number of the hold.
	Hold uint64
	TID  int
	// G is the address of the goroutine's g, Goroutine its number.
	G, Goroutine uint64
	// Place is the address of the armed place, Functions what is under way on the
	// goroutine, the innermost first.
	Place     uint64
	Functions []string
	// At is when it was parked, and Until when the lease ends.
	At, Until time.Time
	// Whole: the whole program stands still for it, and not this goroutine alone.
	Whole bool
	// Stood is how long its thread stood still for that, as far as it can be seen from
	// here: from when its stop was noticed.
	Stood time.Duration
}

// Refused is a goroutine that was at an armed place, and was not held.
type Refused struct {
	TID       int
	Place     uint64
	Functions []string
	Reason    park.Reason
	Text      string
	At        time.Time
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
	// Interrupted: the goroutine went on before its time, and it is not known why.
	Interrupted End = "interrupted"
	// ProgramGone: the program has ended, or has become another one.
	ProgramGone End = "program gone"
)

// Ended is that a hold has ended.
type Ended struct {
	Hold uint64
	How  End
	At   time.Time
}

// Stats are what the hold process has done since it was started.
type Stats struct {
	// Stops are the times that a thread of the kubelet stood still, for whatever reason,
	// and Stood how long in all and at most, from when each was noticed.
	Stops        uint64
	Stood, Worst time.Duration
}

// NotWithin is the reason why a goroutine is not held that is not one that may be held at
// the place. The others are package park's.
const NotWithin park.Reason = "not within"

// message is what goes over the link; one of its parts is given. Those up to Leave go from
// podstep to the hold process, the others back.
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
	Lost    int

	// Beat shows that the other side works. Both send it.
	Beat bool
}

// arm are the places from then on; the hold process answers with the number.
type arm struct {
	Number uint64
	Places []Place
}

// armed is that the places are armed, or why not.
type armed struct {
	Number uint64
	// Refused are, by address, those at which no goroutine can be held.
	Refused map[uint64]park.RefusedError
	// Err is why none is armed.
	Err   string
	Stats Stats
}

type renewal struct {
	Hold  uint64
	Lease time.Duration
}

// ready is that the hold process knows the program.
type ready struct {
	PID int
	Go  string
}
