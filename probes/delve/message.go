//go:build linux

package delve

import (
	"maps"
	"net"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

// Name is the probe's, in events.
const Name = "delve"

// Role is the argument by which this program is the debugger process.
const Role = "debugger"

// lease is how long a goroutine waits that nobody renews.
const lease = 30 * time.Second

// Options are what the debugger process is to do.
type Options struct {
	// PID and Started are the kubelet's: Started is when it was started, in the kernel's
	// clock ticks. 0 is any.
	PID     int
	Started uint64
	// Remote is the address of a headless Delve, HOST:PORT; empty: Delve is attached to PID.
	Remote string
	// NotWithin are functions that must not be under way on a goroutine that is held while
	// the others go on.
	NotWithin []string
	// Lines are on which goroutines is held elsewhere than at steps.
	Lines LineRule
}

// LineRule is on which goroutines is held at a line of the kubelet's code: those on which one
// of the functions Within is under way, and below it only functions of Packages that are
// none of Locking: those that take a lock, by the source of these packages.
type LineRule struct {
	Within, Locking []string
	Packages        map[string]bool
}

// Ready is that the debugger process can begin.
type Ready struct {
	// PID is the process that Delve debugs.
	PID int
	// Delve is the version of Delve.
	Delve string
}

// Begun is that the kubelet goes on, with breakpoints in it.
type Begun struct {
	// Variables is that Delve knows the kubelet's variables, Parks that one goroutine can be
	// held while the others go on.
	Variables, Parks bool
	// Stood is how long the kubelet stood still for it, and Began when it went on: the times
	// of records count from then.
	Stood time.Duration
	Began time.Time
	// Goroutines is the highest number that a goroutine may have had then; 0: it is not known.
	Goroutines uint64
	Err        string
}

// Stats are what the debugger process has done since it began.
type Stats struct {
	// Stops is how often the kubelet stood still, Stood how long in all, and Worst at most,
	// without the stops that a person asked for, which are in Held.
	Stops        uint64
	Stood, Worst time.Duration
	Held         time.Duration
}

// Wanted is where goroutines are to be held.
type Wanted struct {
	// Armed are places by number, with whether every pod is meant.
	Armed map[int]bool
	// UIDs and Goroutines are those that are meant otherwise.
	UIDs       map[string]bool
	Goroutines map[uint64]bool
	// Lines are the addresses of places of breakpoints that are no steps', as the program was
	// linked. Goroutines are meant that are inside a step of a pod.
	Lines map[uint64]bool
}

// Equal reports whether two are the same.
func (w *Wanted) Equal(o *Wanted) bool {
	return maps.Equal(w.Armed, o.Armed) && maps.Equal(w.UIDs, o.UIDs) && maps.Equal(w.Goroutines, o.Goroutines) && maps.Equal(w.Lines, o.Lines)
}

// Held is a goroutine that is held.
type Held struct {
	holdproc.Held
	// Why is why the whole kubelet is stopped, if it is.
	Why string
	// Line is where it is held if that is no place of a step.
	Line *Frame
}

// LineStep is how a goroutine goes on by line.
type LineStep string

// The ways.
const (
	LineOver LineStep = "over" // to the next line of the function
	LineInto LineStep = "into" // into a function that the line calls
	LineOut  LineStep = "out"  // to where the function was called
	LineNone LineStep = "none" // not by line any more
)

// Question is what somebody wants to know of a goroutine that is held, or wants it to do.
type Question struct {
	Number uint64
	// Goroutine is its number, G the address of the runtime's g if it is not held itself, and
	// Frame the function under way that is meant, 0 the innermost of the kubelet's own.
	Goroutine, G uint64
	Frame        int
	// Line has the goroutine be held again at a line when it is let go.
	Line LineStep
	// Find is a place in the code that is looked for, in Delve's syntax.
	Find string
	// Expression is to be evaluated there; empty: all arguments and variables are given.
	Expression string
}

// Answer is what Delve knows.
type Answer struct {
	Number uint64
	Err    string
	// Frames are the functions under way, the innermost first.
	Frames []Frame
	// Without is why variables are not known.
	Without string
	// Arguments and Locals are those of the frame that was asked for.
	Arguments, Locals []Variable
	// Value is that of the expression.
	Value *Variable
	// Found are the places that were looked for.
	Found []Found
	// Stood is how long the kubelet stood still for the answer.
	Stood time.Duration
}

// Frame is a function that is under way.
type Frame struct {
	Function, File string
	Line           int
}

// Found is a place in the code: the address of an instruction, as the program was linked.
type Found struct {
	Frame
	Address uint64
}

// Variable is a variable of the kubelet's, in one line.
type Variable struct{ Name, Type, Value string }

// message is what goes over the link; one of its parts is given. Those up to Leave go from
// podstep to the debugger process, the others back.
type message struct {
	Options *Options
	Begin   *uprobe.Reading
	Wanted  *Wanted
	Rules   []holdproc.Place
	LetGo   uint64
	Renew   uint64
	Look    *Question
	Leave   bool

	Ready   *Ready
	Begun   *Begun
	Records []uprobe.Record
	Held    *Held
	Ended   *holdproc.Ended
	Looked  *Answer
	Stats   *Stats
	Failed  string
	Note    string
	Lost    int

	// Beat shows that the other side works. Both send it.
	Beat bool
}

// newLink makes the stream of messages between podstep and the debugger process.
func newLink(c net.Conn) *companion.Duplex[message] {
	return companion.NewDuplex(c, message{Beat: true}, func(n int) message { return message{Lost: n} })
}
