package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
)

// traceFlags are those of trace.
type traceFlags struct {
	podName
	steps           []string
	for_            *period
	filter          filterFlag
	until           string
	noHistory, node bool
	file            string
	quiet           bool
	out             format
}

func (a *app) trace() *cobra.Command {
	var flags traceFlags
	cmd := &cobra.Command{
		Use:   "trace [POD|GLOB] [-n NAMESPACE] [--step STEP|GLOB|stage:NAME]... [--filter FILTER] [--for DURATION] [--until ready|deleted|held|step=STEP] [-w FILE] [flags]",
		Short: "Print what happens to pods, step by step",
		Long: `Prints the events of pods. It begins with those that the agent remembers, so that
a late reader sees the whole story, and waits for a pod that is not there yet.

It ends with Ctrl-C, after --for, or when the first of the pods reaches --until.
If --for runs out before --until is reached, the exit code is 1.

A line begins with the time since the first event. ">" enters a step, "<" leaves
it and has its duration, "-" is both in one line. "!" is a hold, a fault, a note
or lost events.

With -w podstep also writes the events to FILE, for podstep replay. The file gets
all events of the pods and steps; --filter only chooses what is printed. Only its
owner can read the file. podstep replaces an older trace, but no other file.`,
		Example: `  podstep trace web
  podstep trace web --until ready --for 2m
  podstep trace 'shop/*' --step 'cri.*' --no-history
  podstep trace web --filter 'err or slow>1s'
  podstep trace -w node.podstep --node --quiet
  podstep trace web -o json | jq -c '[.step, .kind, .durationNs]'`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := flags.tracer(first(args), a.out)
			if err != nil {
				return err
			}
			c, err := a.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			t.client = c
			if flags.file == "" {
				return t.run(cmd.Context(), flags.for_.d)
			}
			if t.recording, err = a.record(flags.file, c, t.req, flags.quiet); err != nil {
				return err
			}
			return t.recording.end(t.run(cmd.Context(), flags.for_.d), a.printf)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *traceFlags) add(cmd *cobra.Command) {
	f.for_ = newPeriod("--for 30s")
	f.podName.add(cmd)
	cmd.Flags().StringArrayVar(&f.steps, "step", nil, "only this `STEP`; a glob, or stage:NAME; may be given more than once")
	cmd.RegisterFlagCompletionFunc("step", completeSteps)
	f.filter.add(cmd)
	f.for_.add(cmd, "for", "how long, like 30s (default: for ever)")
	cmd.Flags().StringVar(&f.until, "until", "", "end when a pod is `ready|deleted|held` or enters step=STEP")
	cmd.RegisterFlagCompletionFunc("until", completeUntil)
	cmd.Flags().BoolVar(&f.noHistory, "no-history", false, "print only what happens from now on")
	cmd.Flags().BoolVar(&f.node, "node", false, "also events of the node, which belong to no pod")
	cmd.Flags().StringVarP(&f.file, "write", "w", "", "also write the events to `FILE`")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print no events, only write them")
	f.out.add(cmd, "wide", "json")
}

func (f *traceFlags) tracer(pods string, out io.Writer) (*tracer, error) {
	if f.quiet && f.file == "" {
		return nil, usagef("--quiet prints nothing, and there is no FILE to write to; give -w FILE")
	}
	catalogue, err := probes.Load()
	if err != nil {
		return nil, err
	}
	sel, err := f.some(pods)
	if err != nil {
		return nil, err
	}
	globs, err := stepGlobs(catalogue, f.steps)
	if err != nil {
		return nil, err
	}
	end, err := parseUntil(catalogue, f.until)
	if err != nil {
		return nil, err
	}
	t := &tracer{
		req:     &agentpb.WatchRequest{Pods: sel, Steps: globs, History: !f.noHistory, Node: f.node},
		printer: printer{out: out, steps: globs, filter: &f.filter.Filter},
		quiet:   f.quiet,
		end:     end,
	}
	if end != nil && len(globs) > 0 {
		t.req.Steps = append(append([]string{}, globs...), end.steps()...)
	}
	if f.out.value == "json" {
		t.lines = &lines.JSON{}
	} else {
		t.lines = lines.NewStory(f.out.wide(), sel.Name == "" || sel.HasGlob())
	}
	return t, nil
}

// tracer prints events until it is time to end. More is watched than its printer
// prints if the end shows at steps that were not asked for.
type tracer struct {
	printer
	client    *client.Client
	req       *agentpb.WatchRequest
	quiet     bool
	recording *recording // nil: none
	end       until
	// live: what the recorder remembered has come.
	live  bool
	asked time.Time
}

// errReached ends a trace whose --until has come.
var errReached = errors.New("reached")

// errForOver ends a trace whose --for has run out.
var errForOver = errors.New("--for ran out")

// The state of pods is asked for when events come, but not for each of a flood,
// and now and then, for ends that no event of the steps that are watched shows.
const (
	askAtMost  = 20 * time.Millisecond
	askAtLeast = 200 * time.Millisecond
)

// quiet is how long no event must come, after the state has shown the end, until
// the events that led to it are believed to be all there.
const quiet = 50 * time.Millisecond

func (t *tracer) run(ctx context.Context, most time.Duration) error {
	// The time is ours to keep. As a deadline of the context it would go to the
	// agent too, which then ends the stream a moment before we know why.
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if most > 0 {
		defer time.AfterFunc(most, func() { cancel(errForOver) }).Stop()
	}
	end := t.end
	err := t.follow(within)
	switch {
	case errors.Is(err, errReached):
		return nil
	case context.Cause(within) == errForOver && end != nil:
		return fmt.Errorf("%s was not %s within %s; see podstep pods", t.req.Pods.Written(), end, most)
	case within.Err() != nil && end != nil:
		return fmt.Errorf("interrupted before %s was %s", t.req.Pods.Written(), end)
	case within.Err() != nil:
		return nil
	case errors.Is(err, io.EOF) && end != nil:
		return fmt.Errorf("the agent ended the stream before %s was %s; see podstep doctor", t.req.Pods.Written(), end)
	case errors.Is(err, io.EOF):
		return nil
	}
	return err
}

// arrival is what the stream brought.
type arrival struct {
	batch client.Batch
	err   error
}

func (t *tracer) follow(ctx context.Context) error {
	w, err := t.client.Watch(ctx, t.req)
	if err != nil {
		return err
	}
	arrivals := make(chan arrival)
	go receive(ctx, w, arrivals)
	t.live = !t.req.History
	tick := time.NewTicker(askAtLeast)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-arrivals:
			if a.err != nil {
				return a.err
			}
			if err := t.take(a.batch); err != nil {
				return err
			}
		case <-tick.C:
		}
		reached, err := t.ask(ctx)
		if err != nil {
			return err
		}
		if reached {
			return t.drain(ctx, arrivals)
		}
	}
}

// drain prints the events that were under way when the state showed the end.
func (t *tracer) drain(ctx context.Context, arrivals <-chan arrival) error {
	t.end = nil
	for most := time.After(10 * quiet); ; {
		select {
		case a := <-arrivals:
			if a.err != nil {
				return errReached
			}
			if err := t.take(a.batch); err != nil {
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

func receive(ctx context.Context, w *client.Watch, to chan<- arrival) {
	for {
		b, err := w.Next()
		select {
		case to <- arrival{b, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// take writes and prints a batch, up to the event that ends the trace.
func (t *tracer) take(b client.Batch) error {
	t.live = t.live || b.CaughtUp
	if t.recording != nil {
		if err := t.recording.add(b.Raw); err != nil {
			return err
		}
	}
	reached := false
	for i := range b.Events {
		e := &b.Events[i]
		reached = t.end != nil && t.end.saw(e, t.live)
		if !t.quiet {
			if err := t.add(e); err != nil {
				return err
			}
		}
		if reached {
			break
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if reached {
		return errReached
	}
	return nil
}

// ask looks whether the pods have come to the end by their state.
func (t *tracer) ask(ctx context.Context) (reached bool, err error) {
	if t.end == nil || !t.live || !t.end.asks() || time.Since(t.asked) < askAtMost {
		return false, nil
	}
	t.asked = time.Now()
	answer, err := t.client.Pods(ctx, &agentpb.PodsRequest{Pods: t.req.Pods})
	if err != nil {
		return false, err
	}
	return t.end.polled(answer.Pods), nil
}
