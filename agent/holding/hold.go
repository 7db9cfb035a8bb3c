package holding

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Hold is a pod's goroutine stopped at a step. At is what the owner of the table knows of the place. The owner fills in the
// exported fields.
type Hold[At any] struct {
	Terms
	Pod    *Pod[At]
	At     At
	Step   *probes.Step
	Side   string           // of the call: enter or exit
	Fields []*agentpb.Field // what is shown of the call there
	Node   bool             // the node stands still meanwhile
	Budget *Budget          // nil: no timer runs
	Err    string           // of the call, at its exit
	Since  time.Time
	// Put puts an event of the hold and returns its number; 0: it is dropped.
	Put func(kind agentpb.Kind, took time.Duration, fields []wire.Field) uint64
	// GaveUp is closed when the call's caller gives up; nil: that is not seen.
	GaveUp <-chan struct{}
	// GoesOn is called when the goroutine goes on; it may be nil.
	GoesOn func()

	id     uint32
	ends   time.Time // when the table lets the pod go by itself
	endsBy string    // what then ends it: the lease, or the name of a timer

	once     sync.Once
	released chan struct{}
	reason   string
	by       server.Peer // the process that let the pod go; none if the agent did

	begun    bool   // the HOLD event was put; guarded by Table.mu, until the hold is handed to its client
	seq      uint64 // of the HOLD event; 0: it was dropped
	ended    chan struct{}
	endedSeq uint64 // of the RELEASE event; set before ended is closed
}

// Cause is what a pod is held for.
type Cause struct {
	agentpb.Cause
	Breakpoint uint32
}

// String returns the cause as events state it.
func (c Cause) String() string {
	return reason.Cause(&agentpb.HoldInfo{Cause: c.Cause, Breakpoint: c.Breakpoint}).En
}

// Terms are the terms on which a pod is held.
type Terms struct {
	Why    Cause
	Lease  time.Duration   // zero: the default, by where the pod is held
	Client context.Context // the hold ends when it is done
	Asked  server.Asker
	Inside *agentpb.StackFrame // the line at which it is held; nil: at the call's begin or end
}

// Budget is the first timer that a hold would trip.
type Budget struct {
	Timer string
	End   time.Time
}

// Release lets the pod go on, for one of the release reasons of agentpb. The reason of the first call counts.
func (h *Hold[At]) Release(reason string) { h.ReleaseBy(reason, server.Peer{}) }

// ReleaseBy is Release for a process that asks for it.
func (h *Hold[At]) ReleaseBy(reason string, by server.Peer) {
	h.once.Do(func() {
		h.reason, h.by = reason, by
		close(h.released)
	})
}

// Released returns a channel that is closed when the pod is let go.
func (h *Hold[At]) Released() <-chan struct{} { return h.released }

// Ended returns a channel that is closed when the pod has gone on.
func (h *Hold[At]) Ended() <-chan struct{} { return h.ended }

// EndedSeq returns the number of the RELEASE event of a hold that has ended.
func (h *Hold[At]) EndedSeq() uint64 { return h.endedSeq }

// Ends returns when the hold ends by itself, and what then ends it: the lease or a timer.
func (h *Hold[At]) Ends() (at time.Time, by string) { return h.ends, h.endsBy }

// setEnd finds out when the hold ends by itself.
func (h *Hold[At]) setEnd() {
	h.ends, h.endsBy = h.Since.Add(h.Lease), agentpb.EndsByLease
	if b := h.Budget; b != nil {
		if e := b.End.Add(-margin(b.End.Sub(h.Since))); e.Before(h.ends) {
			h.ends, h.endsBy = e, b.Timer
		}
	}
}

// margin returns how long before the end of a timer a hold ends, so that the pod is under way again when the timer runs
// out. left is the time until then.
func margin(left time.Duration) time.Duration { return min(5*time.Second, left/10) }

// endReason returns the reason for which the hold ends by itself.
func (h *Hold[At]) endReason() string {
	if h.endsBy == agentpb.EndsByLease {
		return agentpb.ReleaseLease
	}
	return agentpb.ReleaseTimer
}

// delays reports whether the hold is an injected delay.
func (h *Hold[At]) delays() bool { return h.Why.Cause == agentpb.Cause_CAUSE_DELAY }

// On returns where in the call the pod is held: at enter, at exit, or inside.
func (h *Hold[At]) On() string {
	if h.Inside != nil {
		return agentpb.Inside
	}
	return h.Side
}

// fields returns the fields of the HOLD event.
func (h *Hold[At]) fields() []wire.Field {
	out := []wire.Field{wire.Text("on", h.On())}
	if h.Inside != nil {
		out = append(out, wire.Text("line", values.Text(h.Inside.Written())), wire.Text("function", values.Text(h.Inside.GetFunction())))
	}
	out = append(out, wire.Text("why", h.Why.String()), wire.Duration("lease", h.Lease))
	if h.Node {
		out = append(out, wire.Flag("node", true))
	}
	if b := h.Budget; b != nil {
		out = append(out, wire.Text("timer", b.Timer), wire.Duration("budget", b.End.Sub(h.Since)))
	}
	out = append(out, wire.Duration("ends", h.ends.Sub(h.Since)), wire.Text("endsBy", h.endsBy))
	return append(out, h.Asked.Fields()...)
}

// endFields returns the fields of the RELEASE event.
func (h *Hold[At]) endFields() []wire.Field {
	out := []wire.Field{wire.Text("on", h.On()), wire.Text("reason", h.reason)}
	if h.reason == agentpb.ReleaseTimer {
		out = append(out, wire.Text("timer", h.endsBy))
	}
	return append(out, h.by.Fields()...)
}

// Proto returns a hold that has begun, as a message.
func (h *Hold[At]) Proto() *agentpb.HoldInfo {
	now := time.Now()
	out := &agentpb.HoldInfo{
		Id: h.id, Pod: h.Pod.Proto(), Step: h.Step.Name, Stage: h.Step.Stage, On: h.On(), Place: h.Inside,
		Since: timestamppb.New(h.Since), Lease: durationpb.New(max(0, h.Since.Add(h.Lease).Sub(now))),
		Cause: h.Why.Cause, Breakpoint: h.Why.Breakpoint, Error: h.Err, Node: h.Node, Fields: h.Fields,
		Peer: h.Asked.Proto(), Message: h.Asked.Message, Ends: durationpb.New(max(0, h.ends.Sub(now))), EndsBy: h.endsBy, Seq: h.seq,
	}
	if b := h.Budget; b != nil {
		out.Budget = &agentpb.Budget{Timer: b.Timer, Left: durationpb.New(b.End.Sub(now))}
	}
	return out
}
