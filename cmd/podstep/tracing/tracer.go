// Package tracing runs podstep trace: it prints and records the events of pods until the event
// or state comes that it waits for.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/stream"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
)

// Tracer prints events until it is time to end. It watches more steps than it prints if the end
// shows at steps that were not asked for.
type Tracer struct {
	lines.Printer
	Client    *client.Client
	Request   *agentpb.WatchRequest
	Quiet     bool       // nothing is printed
	Recording *Recording // nil: none
	Spans     *Spans     // nil: none is sent
	End       Until      // nil: it does not end by itself
	// Past is what the agent has recorded; nil: it begins with what the agent remembers, if Request asks for that.
	Past *past.Recording

	// after is the number of the last event that came from Past.
	after uint64
	// live says that the remembered events have all come.
	live  bool
	asked time.Time
	// Came says that some event came.
	Came bool
}

// errReached ends a trace whose --until has come.
var errReached = errors.New("reached")

// errForOver ends a trace whose --for has run out.
var errForOver = errors.New("--for ran out")

// The tracer asks for the state of pods when events come, but not for each of a flood. It also
// asks now and then, for ends that no event of the watched steps shows.
const (
	askAtMost  = 20 * time.Millisecond
	askAtLeast = 200 * time.Millisecond
)

// After the state has shown the end, no event must come for quiet. Then the events that led to
// the end are taken to be complete.
const quiet = 50 * time.Millisecond

// Run traces until the end, and for at most most; 0: for ever.
func (t *Tracer) Run(ctx context.Context, most time.Duration) error {
	// podstep keeps the time itself. As a deadline of the context it would go to the agent,
	// too, which then ends the stream a moment before podstep knows why.
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if most > 0 {
		defer time.AfterFunc(most, func() { cancel(errForOver) }).Stop()
	}
	end := t.End
	err := t.follow(within)
	switch {
	case errors.Is(err, errReached):
		return nil
	case context.Cause(within) == errForOver && end != nil:
		return fmt.Errorf("%s was not %s within %s; see podstep pods", t.Request.Pods.Written(), end, most)
	case within.Err() != nil && end != nil:
		return fmt.Errorf("interrupted before %s was %s", t.Request.Pods.Written(), end)
	case within.Err() != nil:
		return nil
	case errors.Is(err, io.EOF) && end != nil:
		return fmt.Errorf("the agent ended the stream before %s was %s; see podstep doctor", t.Request.Pods.Written(), end)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

func (t *Tracer) follow(ctx context.Context) error {
	if err := t.readPast(); err != nil {
		return err
	}
	if t.Request.Pods.IsNamed() {
		// Without it the trace has less, but is true; if the agent is gone, Watch fails too.
		_ = t.Client.WatchClosely(ctx, t.Request.Pods)
	}
	w, err := t.Client.Watch(ctx, t.Request)
	if err != nil {
		return err
	}
	arrivals := stream.Receive(ctx, w.Next)
	t.live = !t.Request.History
	tick := time.NewTicker(askAtLeast)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-arrivals:
			if a.Err != nil {
				return a.Err
			}
			if err := t.printBatch(a.Item); err != nil {
				return err
			}
		case <-tick.C:
			if t.Spans != nil {
				if err := t.Spans.flush(); err != nil {
					return err
				}
			}
		}
		reached, err := t.reached(ctx)
		if err != nil {
			return err
		}
		if reached {
			return t.drain(ctx, arrivals)
		}
	}
}

// readPast prints what was recorded. The events after it are those that the agent remembers, and those that happen.
func (t *Tracer) readPast() error {
	if t.Past == nil {
		return nil
	}
	decode := wire.NewDecoder(t.Past.Header().Info)
	for {
		b, err := t.Past.Next()
		var fault *trace.Fault
		if errors.Is(err, io.EOF) || errors.As(err, &fault) {
			break
		}
		if err != nil {
			return err
		}
		events := decode.Batch(b)
		if !t.Request.Node {
			events = slices.DeleteFunc(events, func(e probes.Event) bool { return e.Pod == nil })
		}
		if err := t.printBatch(client.Batch{Events: events}); err != nil {
			return err
		}
	}
	// An agent that was started again counts from 1.
	if agent, last := t.Past.Last(); agent.GetStarted().AsTime().Equal(t.Client.About().GetStarted().AsTime()) {
		t.after = last
	}
	return t.Past.Close()
}

// drain prints the events that were under way when the state showed the end.
func (t *Tracer) drain(ctx context.Context, arrivals <-chan stream.Arrival[client.Batch]) error {
	t.End = nil
	for most := time.After(10 * quiet); ; {
		select {
		case a := <-arrivals:
			if a.Err != nil {
				return errReached
			}
			if err := t.printBatch(a.Item); err != nil {
				return err
			}
		case <-time.After(quiet):
			return errReached
		case <-most:
			return errReached
		case <-ctx.Done():
			return errReached
		}
	}
}

// printBatch writes and prints a batch, up to the event that ends the trace.
func (t *Tracer) printBatch(b client.Batch) error {
	b.Events = slices.DeleteFunc(b.Events, func(e probes.Event) bool { return e.Seq != 0 && e.Seq <= t.after })
	t.live, t.Came = t.live || b.CaughtUp, t.Came || len(b.Events) > 0
	if t.Recording != nil {
		if err := t.Recording.add(b.Raw); err != nil {
			return err
		}
	}
	if t.Spans != nil {
		if err := t.Spans.add(b.Events); err != nil {
			return err
		}
	}
	reached := false
	for i := range b.Events {
		e := &b.Events[i]
		reached = t.End != nil && t.End.saw(e, t.live)
		if !t.Quiet {
			if err := t.Add(e); err != nil {
				return err
			}
		}
		if reached {
			break
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if reached {
		return errReached
	}
	return nil
}

// reached asks for the state of the pods, and reports whether it shows the end.
func (t *Tracer) reached(ctx context.Context) (reached bool, err error) {
	if t.End == nil || !t.live || !t.End.asks() || time.Since(t.asked) < askAtMost {
		return false, nil
	}
	t.asked = time.Now()
	answer, err := t.Client.Pods(ctx, &agentpb.PodsRequest{Pods: t.Request.Pods})
	if err != nil {
		return false, err
	}
	return t.End.polled(answer.Pods), nil
}
