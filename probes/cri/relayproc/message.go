package relayproc

import (
	"errors"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/probes/cri/takeover"
)

// Options are what the relay process is to do.
type Options struct {
	// Path, Root, Dir, ForceAfter and GuardCommand are those of the takeover.
	Path         string
	Root         string
	Dir          string
	ForceAfter   time.Duration
	GuardCommand []string
	// PID and Started are the kubelet's: a process that got the same number later was started
	// at another time. Other kubelets are known by their names.
	PID     int
	Started uint64
	// Methods are those whose calls are reported.
	Methods []string
	// Bare are those of Methods whose calls are reported without their answers.
	Bare []string
	// Known are the methods whose calls are counted each by itself.
	Known []string
	// Stay is how long the path is kept for a podstep that comes back.
	Stay time.Duration
	// Unused is how long a kubelet that runs may make no call before the path is given
	// back; 0: it is never for that.
	Unused time.Duration
}

// message is what goes over the link; one of its parts is given. Those up to Done go
// from podstep to the relay process, the others back.
type message struct {
	Options *Options
	Arm     *arm
	Verdict *verdict
	Leave   bool

	Ready  *Ready
	Failed *failure
	Begin  *begin
	End    *end
	Armed  uint64
	Note   *note
	Lost   int
	Left   *Left
	Unused string // why the path is given back although nobody asked for that

	// Beat shows that the other side works. Both send it. With Count podstep asks for what
	// was counted since it asked last.
	Beat   bool
	Count  bool
	Counts *Counts
}

// arm is whether calls wait for a verdict, from then on. The relay process answers with
// the number when it is so.
type arm struct {
	Number uint64
	Wait   bool
}

// begin is a call that the kubelet began. Waits is that it waits for a verdict.
type begin struct {
	ID       uint64
	Method   string
	Began    time.Time
	Deadline time.Time
	Message  []byte
	Waits    bool
}

// end is how a call that was reported ended.
type end struct {
	ID      uint64
	Answer  []byte
	None    bool // no answer could be kept
	Code    codes.Code
	Message string
	At      time.Time
}

// verdict is what becomes of a call that waits.
type verdict struct {
	ID uint64
	// Looked is that podstep has looked at the call; the verdict itself may take long.
	Looked bool
	// Code and Message are the error with which the call is to fail; OK lets it go on.
	Code    codes.Code
	Message string
}

// Ready is that calls go through the relay process.
type Ready struct {
	PID int
	// Past is how many connections of the kubelet still go past the relay process.
	Past int
}

// failure is why the path could not be taken.
type failure struct {
	Text string
	// Leaves is that who has the path gives it back just now, as far as is known.
	Leaves bool
}

func (f *failure) Error() string { return f.Text }

// note is takeover.Note.
type note struct {
	What, Text, Err string
	At              time.Time
}

func newNote(n takeover.Note) *note {
	out := &note{What: n.What, Text: n.Text, At: n.At}
	if n.Err != nil {
		out.Err = n.Err.Error()
	}
	return out
}

func (n *note) note() takeover.Note {
	out := takeover.Note{What: n.What, Text: n.Text, At: n.At}
	if n.Err != "" {
		out.Err = errors.New(n.Err)
	}
	return out
}

// Left is what is still under way when the path is given back.
type Left struct {
	// Calls are those that are waited for, and Connections how many there are still.
	Calls       []Call
	Connections int
	// Err is why the path could not be given back; empty: it was.
	Err string
}

// Call is a call under way.
type Call struct {
	Method string
	Began  time.Time
}
