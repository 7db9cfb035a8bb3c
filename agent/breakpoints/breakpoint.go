package breakpoints

import (
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/filter"
)

// defaultExpiry is how long a breakpoint lives.
const defaultExpiry = 30 * time.Minute

// Sides of a call.
const (
	Enter = 0
	Exit  = 1
)

// Breakpoint says what is to happen when a pod comes to a step, or to a place in the code. The owner of the table fills in
// the exported fields before it adds the breakpoint.
type Breakpoint struct {
	ID      uint32 // given by the table
	Spec    *agentpb.AddBreakpointRequest
	Pods    *pods.Selector
	Steps   map[int]string // the names of the steps at which it acts, by their ids
	Refused []*agentpb.Refused
	Places  []Place // the places that Spec.At names; none for a breakpoint at steps
	Log     *Log    // what it logs; nil: nothing
	By      server.Asker
	// The breakpoint is removed when Client is done.
	Client context.Context
	// Idle: it acts nowhere in the present kubelet. Only the owner of the table uses it.
	Idle bool

	expires time.Time
	timer   *time.Timer
	forget  func() bool // stops the waiting for Client
	seq     uint64      // of the last event before it was set
	// Table.mu guards the counts.
	seen   uint32 // times it applied, with those skipped by after
	hits   uint32 // times it acted
	missed uint32 // pods that passed because there was no room for one more hold, snapshot or log
}

// Place is a place in the kubelet's code, with the address by which the debugger knows it.
type Place struct {
	Address uint64
	Frame   *agentpb.StackFrame
}

// Log is what a breakpoint that logs wants.
type Log struct {
	Fields map[string]bool // nil: all
	Filter *filter.Filter
}

// Crossing is one pod at one side of a call.
type Crossing struct {
	Pod   *pods.Pod
	Side  int
	Began time.Time // when the call began
	Err   string    // its error, at its exit
}

// New makes a breakpoint that acts nowhere yet. A fault acts once unless the request says otherwise.
func New(spec *agentpb.AddBreakpointRequest) (*Breakpoint, error) {
	sel, err := pods.NewSelector(spec.GetPods())
	if err != nil {
		return nil, err
	}
	b := &Breakpoint{Spec: proto.CloneOf(spec), Pods: sel, Steps: map[int]string{}}
	switch spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail, *agentpb.AddBreakpointRequest_Delay:
		if b.Spec.Times == 0 {
			b.Spec.Times = 1
		}
	}
	return b, nil
}

// Side returns the side of a call on which the breakpoint acts.
func (b *Breakpoint) Side() int {
	if b.Spec.GetOn() != agentpb.On_ON_ENTER || b.Spec.GetSlowerThan() != nil {
		return Exit
	}
	return Enter
}

// IsAtStep reports whether the breakpoint acts at the step with this id.
func (b *Breakpoint) IsAtStep(id int) bool {
	_, is := b.Steps[id]
	return is
}

// IsAt reports whether an address is one of the breakpoint's places.
func (b *Breakpoint) IsAt(address uint64) bool {
	return slices.ContainsFunc(b.Places, func(p Place) bool { return p.Address == address })
}

// Fails reports whether the breakpoint makes calls fail.
func (b *Breakpoint) Fails() bool {
	_, fails := b.Spec.GetAction().(*agentpb.AddBreakpointRequest_Fail)
	return fails
}

// Snaps reports whether the breakpoint keeps stacks.
func (b *Breakpoint) Snaps() bool {
	_, snaps := b.Spec.GetAction().(*agentpb.AddBreakpointRequest_Snapshot)
	return snaps
}

// Passes reports whether the breakpoint acts on calls that go on. The probes, which prepare for stops, do not hear of it.
func (b *Breakpoint) Passes() bool { return b.Snaps() || b.Log != nil && b.Spec.GetAt() == "" }

// Applies reports whether the breakpoint is for a pod at a side of a call.
func (b *Breakpoint) Applies(at Crossing) bool {
	if slow := b.Spec.GetSlowerThan(); slow != nil {
		if at.Side != Exit || time.Since(at.Began) < slow.AsDuration() {
			return false
		}
	} else if at.Side != b.Side() || b.Spec.GetOn() == agentpb.On_ON_ERROR && at.Err == "" {
		return false
	}
	return b.Client.Err() == nil && at.Pod.Is(b.Pods)
}

// Note returns the fields of a note of the breakpoint: which kind of note it is, the breakpoint's number, and more.
func (b *Breakpoint) Note(kind string, more ...wire.Field) []wire.Field {
	return append([]wire.Field{wire.Text("note", kind), wire.Number("breakpoint", int64(b.ID))}, more...)
}

// expiry returns how long the breakpoint lives.
func (b *Breakpoint) expiry() time.Duration {
	if d := b.Spec.GetExpires().AsDuration(); d > 0 {
		return d
	}
	return defaultExpiry
}

// proto returns the breakpoint as a message. The caller holds Table.mu.
func (b *Breakpoint) proto() *agentpb.Breakpoint {
	out := &agentpb.Breakpoint{
		Id: b.ID, Spec: proto.CloneOf(b.Spec), Refused: b.Refused, Hits: b.hits, Missed: b.missed, Seq: b.seq,
		Expires: timestamppb.New(b.expires), Peer: b.By.Proto(),
	}
	for _, p := range b.Places {
		out.Places = append(out.Places, p.Frame)
	}
	for _, id := range slices.Sorted(maps.Keys(b.Steps)) {
		out.Steps = append(out.Steps, b.Steps[id])
	}
	return out
}
