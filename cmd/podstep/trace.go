package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/cmd/podstep/tracing"
	"github.com/podstep/podstep/probes"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	podName
	steps                 []string
	for_                  *period
	filter                filterFlag
	until, since          string
	noHistory, nodeEvents bool
	file                  string
	otlp                  string
	quiet                 bool
	out                   format
}

func (a *app) trace() *cobra.Command {
	var flags traceFlags
	cmd := &cobra.Command{
		Use:   "trace [POD|GLOB] [-n NAMESPACE] [--step STEP|GLOB|stage:NAME]... [--filter FILTER] [--since TIME] [--for DURATION] [--until ready|deleted|held|step=STEP] [-w FILE] [--otlp ENDPOINT] [flags]",
		Short: "Print what happens to pods, step by step",
		Long: `Prints the events of pods. It begins with those that the agent remembers, so that
a late reader sees the whole story, and waits for a pod that is not there yet. With
--since it begins with what the agent has recorded from that time on: podstep attach
--record-dir does that. What an agent before it has recorded is in podstep replay.

It ends with Ctrl-C, after --for, or when the first of the pods reaches --until.
If --for runs out before --until is reached, the exit code is 1.

A line begins with the time since the first event. ">" enters a step, "<" leaves
it and has its duration, "-" is both in one line. "!" is a hold, a fault, a note
or lost events.

With -w podstep also writes the events to FILE, for podstep replay. The file gets
all events of the pods and steps; --filter only chooses what is printed. Only its
owner can read the file. podstep replaces an older trace, but no other file.

With --otlp podstep also sends each call as a span to an OpenTelemetry collector, as
it ends. It never waits for the collector: spans that find no room are dropped and
counted. http://HOST:4318 is OTLP over HTTP; grpc://HOST:4317, HOST:4317 and
http://HOST:4317 are OTLP over gRPC; https:// and grpcs:// have TLS. Headers and the
certificate to trust come from OTEL_EXPORTER_OTLP_HEADERS and
OTEL_EXPORTER_OTLP_CERTIFICATE.`,
		Example: `  podstep trace web
  podstep trace web --until ready --for 2m
  podstep trace web --since 10m --node worker-3
  podstep trace 'shop/*' --step 'cri.*' --no-history
  podstep trace web --filter 'err or slow>1s'
  podstep trace -w node.podstep --node-events --quiet
  podstep trace --otlp http://localhost:4318 --quiet
  podstep trace web -o json | jq -c '[.step, .kind, .durationNs]'`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.traceNodes(cmd.Context(), first(args), &flags)
		},
	}
	flags.add(cmd)
	return cmd
}

// traceNodes traces on each node that the command line names, at once.
func (a *app) traceNodes(ctx context.Context, pods string, flags *traceFlags) error {
	if flags.since != "" && (flags.file != "" || flags.otlp != "" || flags.noHistory) {
		return usagef("--since prints what was recorded, and -w, --otlp and --no-history are about what is not; podstep export --since writes and sends what was recorded")
	}
	if flags.file != "" && a.several() {
		return usagef("-w writes the events of one node, and several are named; choose one with --node NAME")
	}
	out := &atOnce{to: a.out}
	like, err := flags.tracer(pods, "", out)
	if err != nil {
		return err // before any agent is asked
	}
	var came atomic.Bool
	err = a.onEach(ctx, flags.until != "", func(ctx context.Context, node string, c *client.Client) error {
		t, err := flags.tracer(pods, node, out)
		if err != nil {
			return err
		}
		t.Client = c
		if err := a.beginWithPast(ctx, t, flags); err != nil {
			return err
		}
		err = a.runTrace(ctx, t, flags)
		if t.Came {
			came.Store(true)
		}
		return err
	})
	if err == nil && !came.Load() {
		a.printf("no event of %s came; podstep pods lists the pods", like.Request.Pods.Written())
	}
	return err
}

// beginWithPast makes a trace begin with what the agent has recorded, if that is asked for.
func (a *app) beginWithPast(ctx context.Context, t *tracing.Tracer, flags *traceFlags) error {
	since, err := timeOf("since", flags.since, time.Local)
	if err != nil || since.IsZero() {
		return err
	}
	from, node := recordOf(ctx, t.Client)
	t.Past, err = past.Open(from, past.Choice{Since: since, Pods: t.Request.Pods, Node: node, LastRun: true})
	return a.unlessNothing(err)
}

// runTrace traces and, if flags ask for it, records the events and exports them.
func (a *app) runTrace(ctx context.Context, t *tracing.Tracer, flags *traceFlags) (err error) {
	if flags.otlp != "" {
		if t.Spans, err = tracing.SendSpans(ctx, flags.otlp, t.Client, os.Getenv); err != nil {
			return collectorError(err)
		}
		defer func() { err = t.Spans.End(err, a.printf) }()
	}
	if flags.file == "" {
		return t.Run(ctx, flags.for_.d)
	}
	var progress io.Writer
	if flags.quiet {
		progress = a.err
	}
	if t.Recording, err = tracing.Record(flags.file, t.Client, t.Request, progress); err != nil {
		return err
	}
	return t.Recording.End(t.Run(ctx, flags.for_.d), a.printf)
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
	cmd.Flags().StringVar(&f.since, "since", "", "begin with what was recorded since then: "+timeHelp)
	cmd.RegisterFlagCompletionFunc("since", cobra.NoFileCompletions)
	cmd.Flags().BoolVar(&f.noHistory, "no-history", false, "print only what happens from now on")
	cmd.Flags().BoolVar(&f.nodeEvents, "node-events", false, "also events of the node, which belong to no pod")
	cmd.Flags().StringVarP(&f.file, "write", "w", "", "also write the events to `FILE`")
	cmd.Flags().StringVar(&f.otlp, "otlp", "", "also "+otlpUsage)
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print no events, only write or send them")
	f.out.add(cmd, "wide", "json")
}

func (f *traceFlags) tracer(pods, node string, out io.Writer) (*tracing.Tracer, error) {
	if f.quiet && f.file == "" && f.otlp == "" {
		return nil, usagef("--quiet prints nothing, and there is no FILE to write to; give -w FILE or --otlp ENDPOINT")
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
	t := &tracing.Tracer{
		Request: &agentpb.WatchRequest{Pods: sel, Steps: globs, History: !f.noHistory, Node: f.nodeEvents},
		Printer: lines.Printer{Out: out, Steps: globs, Filter: &f.filter.Filter},
		Quiet:   f.quiet,
		End:     end,
	}
	if end != nil && len(globs) > 0 {
		t.Request.Steps = append(append([]string{}, globs...), end.Steps()...)
	}
	if f.out.value == "json" {
		t.Lines = &lines.JSON{Node: node}
	} else {
		t.Lines = lines.NewStory(f.out.wide(), sel.Name == "" || sel.HasGlob()).On(node)
	}
	return t, nil
}

func parseUntil(c *probes.Catalogue, s string) (tracing.Until, error) {
	if s == "" {
		return nil, nil
	}
	if state := tracing.UntilState(s); state != nil {
		return state, nil
	}
	glob, ok := strings.CutPrefix(s, "step=")
	if !ok {
		return nil, usagef("--until %q: there is no such state; write ready, deleted, held or step=STEP", s)
	}
	if strings.HasPrefix(glob, stagePrefix) {
		return nil, usagef("--until %q is a stage; write a step or a glob, like step=%s.*", s, strings.TrimPrefix(glob, stagePrefix))
	}
	_, err := stepsNamed(c, glob)
	return tracing.UntilStep(glob), err
}

func completeUntil(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	out := slices.Clone(tracing.Untils)
	if strings.HasPrefix(typed, "s") {
		for _, s := range stepCompletions() {
			out = append(out, "step="+s)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// atOnce writes each text whole, though several nodes write at once.
type atOnce struct {
	mu sync.Mutex
	to io.Writer
}

func (w *atOnce) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(text)
}
