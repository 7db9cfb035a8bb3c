package relayproc

import (
	"errors"
	"net"
	"slices"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// Options state what the relay process is to do.
type Options struct {
	// Path, Root, Dir, ForceAfter and GuardCommand are the options of the takeover.
	Path         string
	Root         string
	Dir          string
	ForceAfter   time.Duration
	GuardCommand []string
	// PID and Started are the kubelet's: a process that got the same number later was started at another time.
	// Other kubelets are recognized by their names, or by the name of Program.
	PID     int
	Started uint64
	Program string
	// Methods are the methods whose calls are reported.
	Methods []string
	// Bare are those of Methods whose calls are reported without their answers.
	Bare []string
	// Known are the methods whose calls are counted each by itself.
	Known []string
	// Stay is how long the path is kept for a podstep that comes back.
	Stay time.Duration
	// Unused is for how long a running kubelet may make no call before the path is given back; 0 means forever.
	Unused time.Duration
}

// agree reports whether a relay process that was started with o does what other asks for. The kubelet's view of files
// may differ: the path is the same.
func (o *Options) agree(other *Options) bool {
	same := slices.Equal[[]string]
	return o.PID == other.PID && o.Started == other.Started && o.ForceAfter == other.ForceAfter && o.Stay == other.Stay && o.Unused == other.Unused &&
		same(o.Methods, other.Methods) && same(o.Bare, other.Bare) && same(o.Known, other.Known)
}

// message is what goes over the link. One of its parts is set. Those up to Done go from podstep to the relay
// process, the others back.
type message struct {
	Options *Options
	Arm     *arm
	Verdict *verdict
	Leave   bool

	// PID is the relay process's. It is the first message, before anything is changed. Taken comes as soon as the path is
	// taken.
	PID    int
	Taken  bool
	Ready  *Ready
	Failed *failure
	Begin  *begin
	End    *end
	Armed  uint64
	Note   *note
	Left   *Left
	Unused string  // why the path is given back although podstep did not ask for that
	Counts *Counts // what was counted since the last ones
}

// link is the relay process's side of the link. Calls that are lost on the way are counted.
type link = companion.Duplex[message]

func newLink(c net.Conn) *link { return companion.NewDuplex[message](c) }

// arm states whether calls wait for a verdict from now on. The relay process answers with the number once that is
// in effect.
type arm struct {
	Number uint64
	Wait   bool
}

// begin is a call that the kubelet began. Waits is set if it waits for a verdict.
type begin struct {
	ID       uint64
	Method   string
	Began    clock.Time
	Deadline clock.Time // 0: none
	Message  []byte
	Waits    bool
}

// end states how a call ended that was reported.
type end struct {
	ID      uint64
	Answer  []byte
	None    bool // no answer could be kept
	Code    codes.Code
	Message string
	At      clock.Time
}

// verdict is what becomes of a call that waits.
type verdict struct {
	ID uint64
	// Looked is set if podstep has looked at the call; the verdict itself may take long.
	Looked bool
	// Code and Message are the error with which the call is to fail; OK lets it go on.
	Code    codes.Code
	Message string
}

// Ready reports that calls go through the relay process.
type Ready struct {
	PID int
	// Past is how many connections of the kubelet still go past the relay process.
	Past int
}

// failure is why the path could not be taken.
type failure struct {
	Text string
	// Leaves is set if the holder of the path is giving it back, as far as is known.
	Leaves bool
}

func (f *failure) Error() string { return f.Text }

// note is takeover.Note, as it goes over the link.
type note struct {
	What, Text, Err string
	At              clock.Time
}

func newNote(n takeover.Note) *note {
	out := &note{What: n.What, Text: n.Text, At: clock.Of(n.At)}
	if n.Err != nil {
		out.Err = n.Err.Error()
	}
	return out
}

func (n *note) note() takeover.Note {
	out := takeover.Note{What: n.What, Text: n.Text, At: n.At.Time()}
	if n.Err != "" {
		out.Err = errors.New(n.Err)
	}
	return out
}

// Left is what is still under way when the path is given back.
type Left struct {
	// Calls are the calls that the relay process waits for. Connections is how many connections there still are.
	Calls       []Call
	Connections int
	// Err is why the path could not be given back; "" if it was.
	Err string
}

// Call is a call under way.
type Call struct {
	Method string
	Began  clock.Time
}
