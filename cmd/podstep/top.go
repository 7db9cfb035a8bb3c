package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/export"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes"
)

// topFlags are the flags of top.
type topFlags struct {
	podName
	steps     []string
	filter    filterFlag
	for_      *period
	noHistory bool
	watch     bool
	sort      choice
	trace     string
	logs      logFlags
	save      string
	force     bool
	against   string
	out       format
}

func (a *app) top() *cobra.Command {
	flags := topFlags{for_: newPeriod("--for 30s"), sort: choice{value: string(spread.Orders[0])}}
	for _, o := range spread.Orders {
		flags.sort.of = append(flags.sort.of, string(o))
	}
	cmd := &cobra.Command{
		Use:   "top [POD|GLOB] [-n NAMESPACE] [--step STEP|GLOB|stage:NAME]... [--filter FILTER] [--sort p99|sum|count|max|errors] [--for DURATION] [--watch] [--trace FILE] [--since TIME] [--save FILE [--force]] [--against FILE] [-o wide|json|yaml] [flags]",
		Short: "How long the calls of each step take",
		Long: `Shows for each step how many calls there were, how many of them failed, how long
half of them (P50) and 99 in 100 of them (P99) took at most, how long the longest
took, and in which pod that was. The last column shows how all durations are spread.

It counts the calls that have ended, of those that the agent remembers; those that
go on are in the column OPEN. SHARE is the time of all calls as a part of the time
that was seen. With --for it also counts what happens from now on, for so long, and
with --watch it goes on and prints the table again each second, at a terminal in
place. A call counts if --filter chooses its end. Time for which people held a call
does not count. P50 and P99 are exact to 2 %.

With --since or --until it counts what was recorded: in FILE, or by the agents, if
podstep attach --record-dir records there.

With --save podstep writes the durations to FILE, and with --against FILE it shows how
they differ from those, the largest difference first: before and after a runtime is
upgraded. A step is compared if there are 20 calls of it in both, its P99 if there
are 100.`,
		Example: `  podstep top
  podstep top 'shop/*' --step 'cri.*' --sort sum
  podstep top --watch
  podstep top --trace node.podstep --filter err -o wide
  podstep top --since 1h --all-nodes
  podstep top --no-history --for 10m --save before.json
  podstep top --no-history --for 10m --against before.json
  podstep top -o json | jq -r '.steps[] | select(.p99Ns > 1e9) | .step'`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.against != "" && cmd.Flags().Changed("sort") {
				return usagef("--against sorts by the difference; leave out --sort")
			}
			return a.runTop(cmd.Context(), first(args), &flags)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *topFlags) add(cmd *cobra.Command) {
	f.podName.add(cmd)
	cmd.Flags().StringArrayVar(&f.steps, "step", nil, "only this `STEP`; a glob, or stage:NAME; may be given more than once")
	cmd.RegisterFlagCompletionFunc("step", completeSteps)
	f.filter.add(cmd)
	f.sort.add(cmd, "sort", "", "which steps come first")
	f.for_.add(cmd, "for", "also count what happens from now on, for so long, like 30s")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "go on, and print the table again each second, until --for or Ctrl-C")
	cmd.Flags().BoolVar(&f.noHistory, "no-history", false, "count only what happens from now on; takes --for or --watch")
	cmd.Flags().StringVar(&f.trace, "trace", "", "look into this `FILE`, a trace or a kubelet's log, not at the agent")
	f.logs.add(cmd, "one more log `FILE` of the same node, or the only one")
	cmd.Flags().StringVar(&f.save, "save", "", "also write the durations to `FILE`, for --against")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace a FILE of --save that is there already")
	cmd.Flags().StringVar(&f.against, "against", "", "show how the durations differ from those in `FILE`")
	f.out.add(cmd, "wide", "json", "yaml")
}

func (f *topFlags) recorded() bool { return f.trace != "" || len(f.logs.logs) > 0 }

// names returns the recordings that --trace names.
func (f *topFlags) names() []string {
	if f.trace == "" {
		return nil
	}
	return []string{f.trace}
}

// check finds flags that do not go together.
func (f *topFlags) check() error {
	switch {
	case (f.recorded() || f.logs.timed()) && (f.for_.d > 0 || f.watch || f.noHistory):
		return usagef("--for, --watch and --no-history are about an agent, and a recording is over; leave them out, or --trace, --log, --since and --until")
	case f.logs.given() && !f.recorded():
		return usagef("--node-year and --node-zone are about logs; name one with --trace FILE or --log FILE")
	case f.noHistory && f.for_.d == 0 && !f.watch:
		return usagef("--no-history leaves nothing to count; say for how long to look with --for DURATION, or give --watch")
	case f.force && f.save == "":
		return usagef("--force is about a FILE, and there is none; give --save FILE")
	case f.save != "" && sameFile(f.save, f.trace):
		return usagef("--save %q is the trace that is read; name another file", f.save)
	}
	return nil
}

func (a *app) runTop(ctx context.Context, pods string, flags *topFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	sel, err := flags.some(pods)
	if err != nil {
		return err
	}
	catalogue, err := probes.Load()
	if err != nil {
		return err
	}
	globs, err := stepGlobs(catalogue, flags.steps)
	if err != nil {
		return err
	}
	p := &topPrinter{app: a, flags: flags}
	if flags.against != "" {
		if p.against, err = readBaseline(flags.against); err != nil {
			return err
		}
	}
	var save *export.File
	if flags.save != "" { // now, since it may take long to count
		if save, err = export.Create(flags.save, flags.force); err != nil {
			return existsError(err)
		}
		defer save.Discard()
	}
	t := &topper{catalogue: catalogue, pods: sel, globs: globs, filter: &flags.filter.Filter}
	switch {
	case flags.recorded():
		err = a.topOfRecording(ctx, t, &flags.logs, flags.names()...)
	case a.several():
		return a.topOfNodes(ctx, t, p)
	case flags.logs.timed():
		err = a.topOfRecord(ctx, t, &flags.logs)
	default:
		err = a.topOfAgent(ctx, t, p)
	}
	if t.h == nil {
		return err
	}
	if printing := p.last(t); printing != nil {
		return printing
	}
	if save != nil {
		return errors.Join(a.saveBaseline(t, save, flags.save), err)
	}
	return err
}

// readBaseline reads a file that --save has made.
func readBaseline(path string) (*spread.Baseline, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	defer f.Close()
	b, err := spread.ReadBaseline(f)
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", path, err)
	}
	return b, nil
}

// saveBaseline writes the durations to the FILE of --save.
func (a *app) saveBaseline(t *topper, f *export.File, path string) error {
	b := t.baseline()
	if err := b.Write(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return existsError(err)
	}
	a.printf("the durations of %d steps are in %s", len(b.Steps), path)
	return nil
}

// topOfAgent counts the calls that an agent remembers, and those that come for as long as flags say.
func (a *app) topOfAgent(ctx context.Context, t *topper, p *topPrinter) error {
	c, err := a.dialReader(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return t.countAgent(ctx, c, p.flags, p.again)
}

// countAgent counts the calls that an agent remembers, and those that come for as long as flags say.
func (t *topper) countAgent(ctx context.Context, c *client.Reader, flags *topFlags, again func(*topper) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	goesOn := flags.watch || flags.for_.d > 0
	w, err := c.Watch(within, &agentpb.WatchRequest{
		Pods: t.pods, Steps: t.globs, History: !flags.noHistory, OnlyHistory: !goesOn, Node: t.node(),
	})
	if err != nil {
		return err
	}
	t.begin(c.About())
	t.live = true
	if flags.noHistory {
		t.from = time.Now()
	}
	if flags.for_.d > 0 {
		defer time.AfterFunc(flags.for_.d, cancel).Stop()
	}
	return t.follow(within, w.NextRaw, again)
}
