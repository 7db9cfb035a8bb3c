package holdproc

import (
	"time"

	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
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

// Stats state what the hold process has done since it was started.
type Stats struct {
	// Stops counts the times that a thread of the kubelet stood still, for whatever reason. Stood is how long that
	// was in all, and Worst at most, from when each stop was noticed.
	Stops        uint64
	Stood, Worst time.Duration
}

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
	Held    *inside.Held
	Refused *inside.Refused
	Ended   *inside.Ended
}

// arm has the places that are armed from then on. The hold process answers with the number.
type arm struct {
	Number uint64
	Places []inside.Place
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
