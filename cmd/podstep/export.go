package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/export"
	"github.com/podstep/podstep/agent/export/collector"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/probes"
)

// exportFlags are the flags of export.
type exportFlags struct {
	podName
	to    choice
	file  string
	force bool
	otlp  string
	logs  logFlags
}

func (a *app) export() *cobra.Command {
	var flags exportFlags
	var forms strings.Builder
	for _, f := range export.Formats() {
		flags.to.of = append(flags.to.of, f.Name)
		fmt.Fprintf(&forms, "  %-10s%s\n", f.Name, f.Text)
	}
	cmd := &cobra.Command{
		Use:   "export [FILE] [POD|GLOB] [-n NAMESPACE] --to " + strings.Join(flags.to.of, "|") + " [-w FILE [--force]] [--otlp ENDPOINT] [flags]",
		Short: "Write a recorded trace in a form that other tools open",
		Long: `Writes the stories of a file that podstep trace -w has written, of a directory to which
podstep attach --record-dir records, or of a kubelet's log, in another form. With --since
or --until and no FILE they come from the record of the agent here, or of the agent that
is named (--node, --ssh, --socket); of several nodes, --otlp sends the spans of each, and
a form is written of the node that has the POD:

` + forms.String() + `
Without -w it writes to stdout. A FILE is there in full or not at all; only its
owner can read it, and podstep replaces one only with --force. If the trace is cut
short or damaged, podstep exports what comes before that place; the exit code is
then 1. With --otlp it sends the spans to a collector, as podstep trace --otlp does.`,
		Example: `  podstep export web.podstep --to perfetto -w web.pftrace
  podstep export node.podstep 'shop/*' --to otlp -w shop.jsonl
  podstep export web.podstep --to json | jq -c 'select(.durationNs > 1e9) | [.step, .durationNs / 1e9]'
  podstep export /var/lib/podstep/record web --since 03:00 --until 03:30 --to perfetto -w web.pftrace
  podstep export web.podstep --otlp http://localhost:4318
  podstep export --since 1h --otlp http://localhost:4318 --all-nodes`,
		Args: arguments(0, 2, "FILE [POD]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			timed := flags.logs.timed()
			if len(args) == 0 && !timed {
				return usagef("FILE is missing; name one, or with --since a time of what podstep recorded")
			}
			if err := flags.check(a.out); err != nil {
				return err
			}
			if timed && (len(args) == 0 || len(args) == 1 && !isRecording(args[0])) {
				return a.exportRecords(cmd.Context(), first(args), &flags)
			}
			return a.exportTrace(cmd.Context(), args[0], first(args[1:]), &flags)
		},
	}
	flags.podName.add(cmd)
	flags.to.add(cmd, "to", "", "`FORM` to write: "+strings.Join(flags.to.of, ", "))
	cmd.Flags().StringVarP(&flags.file, "write", "w", "", "write to `FILE` (default: stdout)")
	cmd.Flags().BoolVar(&flags.force, "force", false, "replace a FILE that is there already")
	cmd.Flags().StringVar(&flags.otlp, "otlp", "", otlpUsage)
	flags.logs.add(cmd, "one more log `FILE` of the same node, if FILE is a log, too")
	return cmd
}

const otlpUsage = "send spans to the OpenTelemetry collector at `ENDPOINT`, such as http://localhost:4318 (OTLP over HTTP) or localhost:4317 (over gRPC)"

// check finds flags that do not go together.
func (f *exportFlags) check(stdout io.Writer) error {
	switch {
	case f.otlp != "" && (f.file != "" || f.to.value != "" && f.to.value != "otlp"):
		return usagef("--otlp sends spans and writes no file; leave out -w, and --to unless it is otlp")
	case f.otlp != "":
		return nil
	case f.to.value == "":
		return usagef("--to is missing; write one of --to %s", strings.Join(f.to.of, ", "))
	case f.force && f.file == "":
		return usagef("--force is about a FILE, and there is none; give -w FILE")
	case f.file == "" && export.Named(f.to.value).Binary && isTerminal(stdout):
		return usagef("--to %s is binary, and stdout is a terminal; give -w FILE", f.to.value)
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

func (a *app) exportTrace(ctx context.Context, path, pod string, flags *exportFlags) error {
	sel, err := flags.some(pod)
	if err != nil {
		return err
	}
	flags.logs.past.pods = sel
	r, err := a.openLogs(ctx, &flags.logs, path)
	if err != nil {
		return openError(err)
	}
	defer r.Close()
	catalogue, err := probes.Load()
	if err != nil {
		return err
	}
	about := &export.About{Info: r.Header().Info, Catalogue: catalogue}
	if flags.otlp != "" {
		return a.exportToCollector(ctx, path, r, sel, about, flags)
	}
	return a.exportToFile(ctx, path, r, sel, about, flags)
}

// exportRecords exports what agents have recorded: to a collector that of all nodes that the command is about.
func (a *app) exportRecords(ctx context.Context, pod string, flags *exportFlags) error {
	sel, err := flags.some(pod)
	if err != nil {
		return err
	}
	if flags.otlp == "" || !a.several() {
		names, err := flags.logs.fromRecord(ctx, a, sel, true)
		if err != nil {
			return err
		}
		return a.exportTrace(ctx, names[0], pod, flags)
	}
	answers, err := askRecords(ctx, a, func(from past.Store, node string) (struct{}, error) {
		of := *flags
		of.logs.past.from, of.logs.past.node = from, node
		return struct{}{}, a.exportTrace(ctx, from.String(), pod, &of)
	})
	return errors.Join(err, a.printUnanswered(namesOf(answers), errorsOf(answers)))
}

func (a *app) exportToFile(ctx context.Context, path string, r trace.Recording, sel *agentpb.PodSelector, about *export.About, flags *exportFlags) error {
	format := export.Named(flags.to.value)
	if flags.file == "" {
		return a.copyTrace(ctx, path, r, about, export.NewFeed(sel, about, format.New(a.out, about)))
	}
	if sameFile(path, flags.file) {
		return usagef("-w %q is the trace that is exported; name another file", flags.file)
	}
	f, err := export.Create(flags.file, flags.force)
	if err != nil {
		return existsError(err)
	}
	defer f.Discard()
	feed := export.NewFeed(sel, about, format.New(f, about))
	err = a.copyTrace(ctx, path, r, about, feed)
	var source *export.SourceError
	if err != nil && !errors.As(err, &source) {
		return err
	}
	if feed.Events() == 0 && err == nil {
		return noEvents(&flags.logs, path, sel)
	}
	if committing := f.Commit(); committing != nil {
		return existsError(committing)
	}
	a.printf("%d events in %s", feed.Events(), flags.file)
	return err
}

func (a *app) exportToCollector(ctx context.Context, path string, r trace.Recording, sel *agentpb.PodSelector, about *export.About, flags *exportFlags) error {
	c, err := collector.Dial(ctx, flags.otlp, os.Getenv)
	if err != nil {
		return collectorError(err)
	}
	defer c.Close()
	feed := export.NewFeed(sel, about, export.NewOTLP(about, c.Deliver(ctx), nil))
	if err := a.copyTrace(ctx, path, r, about, feed); err != nil {
		return err
	}
	if feed.Events() == 0 {
		return noEvents(&flags.logs, path, sel)
	}
	a.printf("%s", c.Summary())
	return c.Err()
}

// copyTrace exports a trace. A file whose writer was killed counts as whole, as far as it goes.
func (a *app) copyTrace(ctx context.Context, path string, r trace.Recording, about *export.About, feed *export.Feed) error {
	err := export.Copy(ctx, r, about, feed)
	var fault *trace.Fault
	var source *export.SourceError
	switch {
	case errors.As(err, &fault) && fault.Unfinished:
		a.printf("podstep: %s: %s", path, fault)
		return nil
	case errors.As(err, &source):
		return &export.SourceError{Err: fmt.Errorf("%s: %w; all before that was exported", path, source.Err)}
	}
	return err
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

func noEvents(logs *logFlags, path string, sel *agentpb.PodSelector) error {
	return fmt.Errorf("%s has no events of %s; %s", path, sel.Written(), logs.showsWhat(path))
}

// existsError adds what to do about a file that is there already.
func existsError(err error) error {
	if errors.Is(err, export.ErrExists) {
		return fmt.Errorf("%w; name another file, or give --force", err)
	}
	return err
}

// collectorError makes the error for an endpoint that makes no sense, or for a collector that
// does not answer.
func collectorError(err error) error {
	var bad *collector.EndpointError
	if errors.As(err, &bad) {
		return usagef("--otlp %q: %s", bad.Endpoint, bad.Why)
	}
	return err
}
