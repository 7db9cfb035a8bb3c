// Package session is where the events of a screen come from: an agent, with what
// one may ask of it, or a trace file. It hands them out in batches at the pace at
// which frames are drawn, puts what the agent answers in order with its events,
// comes back when an agent does, and undoes at the end what was held and armed
// through it.
package session

import (
	"context"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/screen"
)

// Session is where events come from: an agent, or a trace file.
type Session interface {
	// Next waits for news. It gives what has come since the last call at once,
	// but not more often than frames are worth drawing. It ends with ctx. Who calls
	// it has dealt with what it gave before: calls of Control that wait for that
	// return only then.
	Next(ctx context.Context) (News, error)
	// Control is how to act on pods; nil where there is nothing to act on.
	Control() Control
	// File is the name of the trace file, empty for an agent.
	File() string
	// Close ends the session.
	Close()
}

// News is what came since the last News, in the order of its fields.
type News struct {
	// Info is set when an agent was reached, the first one or another. What
	// comes with it, and after, is of that agent.
	Info    *agentpb.InfoResponse
	Link    *LinkNews
	Batches []*agentpb.Batch
	// CaughtUp: what there was before us has come.
	CaughtUp bool
	// Poll is what an agent does not stream.
	Poll *Poll
	// Holds are set when they may have changed. They agree with the events so far.
	Holds *Holds
	// Fault is what is wrong with a trace file, after its last good event.
	Fault error

	// order is that of the connection; seq and marks are what it needs to know of
	// the batches, and granted says that it knows of another hold.
	order   *order
	seq     uint64
	marks   []mark
	granted bool
}

// LinkNews states how the session is connected.
type LinkNews struct {
	Link screen.Link
	// Why is what ended the connection; nil: nothing did. reason.Error gives it in the
	// reader's language.
	Why error
	// Retry is when the next try is, if there is one.
	Retry time.Time
}

// Poll is what is asked for now and then.
type Poll struct {
	At      time.Time
	Pods    []*agentpb.PodState
	Breaks  []*agentpb.Breakpoint
	Dropped map[string]uint64
}

// Control acts on pods. It is the part of the agent's protocol that a person
// uses by keys.
type Control interface {
	// Hold holds a pod at its next step. The hold ends with this process.
	Hold(ctx context.Context, req *agentpb.HoldRequest) (*agentpb.HoldInfo, error)
	Step(ctx context.Context, req *agentpb.StepRequest) (*agentpb.HoldInfo, error)
	Continue(ctx context.Context, req *agentpb.ContinueRequest) ([]*agentpb.HoldInfo, error)
	// Look asks a debugger about the goroutine of a held pod. The whole kubelet stands
	// still for the answer.
	Look(ctx context.Context, req *agentpb.LookRequest) (*agentpb.LookResponse, error)
	AddBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error)
	RemoveBreakpoint(ctx context.Context, id uint32) error
	Holds(ctx context.Context) ([]*agentpb.HoldInfo, error)
	Breakpoints(ctx context.Context) ([]*agentpb.Breakpoint, error)
	// History gives all that the agent remembers, each batch to take.
	History(ctx context.Context, take func(*agentpb.InfoResponse, *agentpb.Batch) error) error
	// Record writes what the agent remembers and what happens from now on to a
	// file, until ctx ends. It returns the number of events.
	Record(ctx context.Context, path string) (int, error)
	// Poll asks for a new Poll soon.
	Poll()
	// Socket is where the agent listens.
	Socket() string
}
