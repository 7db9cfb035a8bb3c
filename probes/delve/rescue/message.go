package rescue

import "time"

// Role is the argument by which this program is the rescuer process.
const Role = "rescuer"

// Options state which process the rescuer keeps alive. Started is the time of its start in the kernel's clock ticks.
type Options struct {
	PID     int
	Started uint64
	// Still is how long the process may be kept stopped without a break; longer, and the rescuer ends the debugger process.
	Still time.Duration
	// Debugger is the process that starts the rescuer. Start sets it.
	Debugger int
}

// Ends is a function that gets the reason why the rescuer is about to end the debugger process.
type Ends func(why string)

// message is a message of the link. One of its fields is set. The debugger process sends those up to Leave, the
// rescuer the others.
type message struct {
	Options *Options
	Add     *places
	Leave   bool // no breakpoint is left

	Ready  int // the rescuer's PID
	Added  *added
	Failed string
	Ends   string // why the rescuer is about to end the debugger process
}

// places are addresses at which there may be breakpoints once they are added.
type places struct {
	Number    uint64
	Addresses []uint64
	// Short: instructions of one byte are among them.
	Short bool
}

// added is the answer to places.
type added struct {
	Number uint64
	Err    string
}
