// Package session provides the events of a screen, from an agent or a trace file, and the requests that one may make
// to an agent. It hands events out in batches at the pace at which frames are drawn, and puts the agent's answers in
// order with them. It connects again when an agent comes back. At the end it undoes what was held and armed through
// it.
package session

import (
	"context"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/screen"
)

// Session is a source of events: an agent, or a trace file.
type Session interface {
	// Next waits for news. It returns at once all that has come since the last call, but not more often than frames
	// are worth drawing. It ends with ctx. By calling Next again the caller says that it has dealt with the News
	// before. Calls of Control that wait for that return only then.
	Next(ctx context.Context) (News, error)
	// Control returns the control of the agent; nil if there is nothing to act on.
	Control() Control
	// WatchClosely asks for all steps of a pod, by uid, in place of the pod before; empty: of none. It does not wait. A trace
	// file has what it has.
	WatchClosely(uid string)
	// File returns the name of the trace file, empty for an agent.
	File() string
	// Close ends the session.
	Close()
}

// News is what has come since the last News, in the order of its fields.
type News struct {
	// Info is set when podstep has reached an agent, the first one or another. The rest of this News, and later
	// News, is from that agent.
	Info *agentpb.InfoResponse
	// Renewed is what the same agent states about itself now: the kubelet may be another one, and the probes may see
	// other steps.
	Renewed *agentpb.InfoResponse
	Link    *LinkNews
	Batches []*agentpb.Batch
	// CaughtUp: the events from before podstep connected have come.
	CaughtUp bool
	// Poll has what an agent does not stream.
	Poll *Poll
	// Holds are set when they may have changed. They agree with the events so far.
	Holds *Holds
	// Fault says what is wrong with a trace file, behind its last good event.
	Fault error

	// order belongs to the connection. seq and marks tell it about the batches. granted says that it knows of
	// another hold. probes: the batches say how a probe fares.
	order   *order
	seq     uint64
	marks   []mark
	granted bool
	probes  bool
}

// LinkNews says how the session is connected.
type LinkNews struct {
	Link screen.Link
	// Why is the error that ended the connection; nil if none did. reason.Error puts it into the reader's language.
	Why error
	// Retry is the time of the next try, if there will be one.
	Retry time.Time
}

// Poll has what podstep asks an agent for now and then.
type Poll struct {
	At      time.Time
	Pods    []*agentpb.PodState
	Breaks  []*agentpb.Breakpoint
	Dropped map[string]uint64
}

// Control acts on pods. It has the requests to an agent that a person makes by keys.
type Control interface {
	// Hold holds a pod at its next step. The hold ends with this process.
	Hold(ctx context.Context, req *agentpb.HoldRequest) (*agentpb.HoldInfo, error)
	Step(ctx context.Context, req *agentpb.StepRequest) (*agentpb.HoldInfo, error)
	Continue(ctx context.Context, req *agentpb.ContinueRequest) ([]*agentpb.HoldInfo, error)
	// Retry has the kubelet sync a pod now, and ends the pod's back-offs.
	Retry(ctx context.Context, req *agentpb.RetryRequest) (*agentpb.RetryResponse, error)
	// Look asks a debugger about the goroutine of a held pod. The whole kubelet stands still until the answer.
	Look(ctx context.Context, req *agentpb.LookRequest) (*agentpb.LookResponse, error)
	AddBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error)
	RemoveBreakpoint(ctx context.Context, id uint32) error
	Holds(ctx context.Context) ([]*agentpb.HoldInfo, error)
	Breakpoints(ctx context.Context) ([]*agentpb.Breakpoint, error)
	// History passes all that the agent remembers to take, batch by batch.
	History(ctx context.Context, take func(*agentpb.InfoResponse, *agentpb.Batch) error) error
	// Record writes what the agent remembers and what happens from now on to a
	// file, until ctx ends. It returns the number of events.
	Record(ctx context.Context, path string) (int, error)
	// Poll asks for a new Poll soon.
	Poll()
}
