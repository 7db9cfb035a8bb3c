//go:build linux

package delve

import (
	"maps"
	"time"

	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/reading"
)

// Name is the probe's, in events.
const Name = "delve"

// Role is the argument by which this program is the debugger process.
const Role = "debugger"

// lease is how long a goroutine waits if nobody renews its hold.
const lease = 30 * time.Second

// Options state what the debugger process is to do.
type Options struct {
	// PID and Started are the kubelet's. Started is the time of its start in the kernel's clock ticks; 0: any.
	PID     int
	Started uint64
	// Remote is the address of a headless Delve, HOST:PORT. If it is empty, Delve is attached to PID.
	Remote string
	// NotWithin are functions that must not be under way on a goroutine for it to be held while the others go on.
	NotWithin []string
	// Lines selects the goroutines that line breakpoints hold.
	Lines LineRule
	// Shown has, by function, the variables whose texts are shown. All other texts are shown by the types that have
	// them.
	Shown map[string][]string
	// Bounds bound how long the whole kubelet may stand still, until Client.Bound sets others.
	Bounds Bounds
}

// LineRule selects the goroutines that a line breakpoint holds. Their stacks have a function of Within, and between
// it and the line only functions of Packages, none of which is in Locking: the functions that take a lock, by the
// source of these packages.
type LineRule struct {
	Within, Locking []string
	Packages        map[string]bool
}

// Ready reports that the debugger process can begin.
type Ready struct {
	// PID is the process that Delve debugs. Self is the debugger process.
	PID, Self int
	// Delve is the version of Delve.
	Delve string
	// NoNet is why the kubelet dies at its next breakpoint if the debugger process dies; empty: it lives on.
	NoNet string
}

// Begun reports that the kubelet goes on, with breakpoints in it.
type Begun struct {
	// Variables is true if Delve knows the kubelet's variables. Parks is true if one goroutine can be held while the
	// others go on.
	Variables, Parks bool
	// Stood is how long the kubelet stood still for Begin.
	Stood time.Duration
	// Goroutines is the highest number that a goroutine may have had then. 0: it is not known.
	Goroutines uint64
	Err        string
}

// Stats are what the debugger process has done since it began.
type Stats struct {
	// Stops is how often the kubelet stood still. Stood is how long it stood still in all, and Worst the longest
	// stop. Stops that a person asked for are not in these two; Held has their time.
	Stops        uint64
	Stood, Worst time.Duration
	Held         time.Duration
	// Twice is how often a goroutine was taken to come to a place for the second time. Such a stop makes no call: a
	// call is missing if it was another one, with the same registers.
	Twice uint64
}

// Wanted selects the goroutines that are held, and where.
type Wanted struct {
	// Armed are the numbers of places. The value is true where every pod's goroutines are held.
	Armed map[int]bool
	// Where it is false, the goroutines of UIDs and Goroutines are held.
	UIDs       map[string]bool
	Goroutines map[uint64]bool
	// Lines are the addresses of breakpoints that are not at a step, as the program was linked. There, goroutines
	// that are inside a pod's step are held.
	Lines map[uint64]bool
}

// Equal reports whether two select the same.
func (w *Wanted) Equal(o *Wanted) bool {
	return maps.Equal(w.Armed, o.Armed) && maps.Equal(w.UIDs, o.UIDs) && maps.Equal(w.Goroutines, o.Goroutines) && maps.Equal(w.Lines, o.Lines)
}

// Held is a goroutine that is held.
type Held struct {
	inside.Held
	// Why is the reason why the whole kubelet is stopped; empty: it is not.
	Why string
	// Line is where the goroutine is held if it is not at a step.
	Line *Frame
}

// LineStep is a way to go on by line.
type LineStep string

// The ways to go on by line.
const (
	LineOver LineStep = "over" // to the next line of the function
	LineInto LineStep = "into" // into a function that the line calls
	LineOut  LineStep = "out"  // to where the function was called
	LineNone LineStep = "none" // not by line any more
)

// Question asks about a goroutine that is held, or asks it to do something.
type Question struct {
	Number uint64
	// Goroutine is the goroutine's number. G is the address of the runtime's g if the goroutine is not held itself.
	// Frame is the function under way that is asked about; 0 is the innermost of the kubelet's own.
	Goroutine, G uint64
	Frame        int
	// Line makes the goroutine stop again at a line after it is let go.
	Line LineStep
	// Expression is to be evaluated in Frame. If it is empty, all arguments and variables are returned.
	Expression string
}

// Answer is Delve's answer to a Question.
type Answer struct {
	Number uint64
	Err    string
	// Frames are the functions under way, the innermost first.
	Frames []Frame
	// Without is the reason why variables are not known.
	Without string
	// Arguments and Locals are the variables of Question.Frame.
	Arguments, Locals []Variable
	// Value is the value of Question.Expression.
	Value *Variable
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

// Variable is a variable of the kubelet's, in one line, without secrets.
type Variable struct{ Name, Type, Value string }

// message is a message of the link. One of its fields is set. podstep sends those up to Leave, the debugger process
// the others.
type message struct {
	Options *Options
	Begin   *reading.Plan
	Wanted  *Wanted
	Rules   []inside.Place
	Bounds  *Bounds
	LetGo   uint64
	Renew   uint64
	Look    *Question
	Leave   bool

	Ready   *Ready
	Begun   *Begun
	Records []reading.Record
	Held    *Held
	Ended   *inside.Ended
	Looked  *Answer
	Stats   *Stats
	Failed  string
	Note    string
}
