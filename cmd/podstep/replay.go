package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/tui/session"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	follow bool
	filter filterFlag
	logs   logFlags
	name   podName
	out    format
}

const replayLong = `Shows a file that podstep trace -w has written, or logs: the kubelet's, as text or
JSON, as a file or as journalctl prints it, and containerd's beside it. Logs may be
packed with gzip, zstd or xz; "-" is the standard input. node/NAME stands for the logs
that the kubelet of that node serves through the API server. It needs no agent.

DIR is a directory to which podstep attach --record-dir records, or a copy of it; it
may be read while podstep writes. With --since or --until and no FILE podstep reads
that of the agent here, or of the agent that is named (--node, --ssh, --socket), and a
POD chooses the pods: podstep replay --since 1h web. Of several nodes it is the one
that has the POD. Where nothing was recorded, the node's story says so.

What a log tells depends on the kubelet's -v: at 2 what comes and goes, at 4 the turns
of each pod's worker with most of their steps. docs/log.md has a table.

At a terminal it opens the screen, with a clock: Space plays, "," and "." go from
event to event. With --plain, -o or --follow, and where there is no terminal, it
prints the events as podstep trace does. If the file is cut short or damaged,
podstep shows what comes before that place; the exit code is then 1.`

func (a *app) replay() *cobra.Command {
	var flags replayFlags
	var ui uiFlags
	cmd := &cobra.Command{
		Use:   "replay [FILE|DIR|POD]... [--since TIME] [--until TIME] [--filter FILTER] [--follow] [--plain] [-o wide|json] [flags]",
		Short: "Look at a recorded trace, or at logs",
		Long:  replayLong,
		Example: `  podstep replay web.podstep
  podstep replay web.podstep --filter 'step~cri.* slow>1s'
  podstep replay web.podstep -o json | jq -c 'select(.error) | [.step, .error]'
  podstep replay web.podstep --follow
  podstep replay --since 03:00 --until 03:30 web
  podstep replay record --since 1h
  podstep replay --since 1h web --node worker-3
  podstep replay kubelet.log containerd.log
  podstep replay node/worker-1 --since 15:00
  journalctl -u kubelet -u containerd -o json | podstep replay -`,
		Args: arguments(0, maxLogs, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := ui.options()
			if err != nil {
				return err
			}
			if args, err = flags.recordings(cmd.Context(), a, args); err != nil {
				return err
			}
			if o.Plain != "" || flags.follow || flags.out.value != "" {
				return a.printTrace(cmd.Context(), args, &flags)
			}
			flags.logs.past.context = true
			r, err := a.openLogs(cmd.Context(), &flags.logs, args...)
			if err != nil {
				return openError(err)
			}
			o.Filter = flags.filter.String()
			return a.show(cmd.Context(), session.NewReplay(nameOfLogs(args), r), o)
		},
	}
	cmd.Flags().BoolVarP(&flags.follow, "follow", "f", false, "wait for more, as long as the file is being written")
	flags.name.add(cmd)
	flags.filter.add(cmd)
	flags.logs.add(cmd, "one more log `FILE` of the same node, as one more argument")
	flags.out.add(cmd, "wide", "json")
	ui.add(cmd)
	return cmd
}

// recordings returns what arguments name: files, or pods of the record directory of this machine.
func (f *replayFlags) recordings(ctx context.Context, a *app, args []string) ([]string, error) {
	timed := f.logs.timed()
	switch {
	case len(args) == 0 && !timed && len(f.logs.logs) == 0:
		return nil, usagef("FILE is missing; name one, or with --since a time of what podstep recorded here")
	case len(args) == 0 && len(f.logs.logs) > 0:
		return args, nil
	case !timed || len(args) > 1 || len(args) == 1 && isRecording(args[0]):
		if f.name.namespace != "" {
			return nil, usagef("-n is about a POD of the record directory; of a FILE, --filter ns=%s chooses events", f.name.namespace)
		}
		return args, nil
	}
	sel, err := f.name.some(first(args))
	if err != nil {
		return nil, err
	}
	return f.logs.fromRecord(ctx, a, sel, len(args) > 0 || f.name.namespace != "")
}

// fromRecord makes the record of the node that the command is about the recording. It returns its name.
func (f *logFlags) fromRecord(ctx context.Context, a *app, sel *agentpb.PodSelector, chosen bool) (names []string, err error) {
	if f.past.from, f.past.node, err = a.recordWith(ctx, sel); err != nil {
		return nil, err
	}
	if chosen {
		f.past.pods = sel
	}
	return []string{f.past.from.String()}, nil
}

// isRecording reports whether an argument is no pod.
func isRecording(arg string) bool {
	if _, is := logstory.NodeOf(arg); is || arg == logstory.Stdin {
		return true
	}
	_, err := os.Stat(arg)
	return err == nil || strings.ContainsAny(arg, ".\\") || strings.Count(arg, "/") > 1
}

// printTrace prints the events of a recording as lines.
func (a *app) printTrace(ctx context.Context, names []string, flags *replayFlags) error {
	r, err := a.openLogs(ctx, &flags.logs, names...)
	if err != nil {
		return openError(err)
	}
	defer r.Close()
	if flags.follow {
		t, is := r.(*trace.Reader)
		if !is {
			return usagef("--follow is for a trace that is being written; of a log that is, pipe what follows it into podstep replay -")
		}
		t.Follow(ctx)
	}
	p := &lines.Printer{Out: a.out, Filter: &flags.filter.Filter, Lines: &lines.JSON{}}
	if flags.out.value != "json" {
		p.Lines = lines.NewStory(flags.out.wide(), true)
		h := r.Header()
		a.printf("%s", aboutRecording(h))
	}
	decode := wire.NewDecoder(r.Header().Info)
	for ctx.Err() == nil {
		b, err := r.Next()
		if err != nil {
			return a.endOfTrace(err, nameOfLogs(names))
		}
		if err := printBatch(p, decode, b); err != nil {
			return err
		}
	}
	return nil
}

// aboutRecording says what a recording is of.
func aboutRecording(h *trace.Header) string {
	node, version := h.Info.GetNode(), h.Info.GetKubeletVersion()
	began := h.Began.Local().Format("2006-01-02 15:04:05")
	if h.Podstep != "" {
		return fmt.Sprintf("%s of %s, kubelet %s, recorded %s by podstep %s", h.Selection, node, version, began, h.Podstep)
	}
	out := h.Selection
	if node != "" {
		out += " of " + node
	}
	if version != "" {
		out += ", kubelet " + version
	}
	return out + ", from " + began + " on"
}

func printBatch(p *lines.Printer, decode *wire.Decoder, b *agentpb.Batch) error {
	decode.AddPods(b.Pods)
	for _, raw := range b.Events {
		e := decode.Event(raw)
		if err := p.Add(&e); err != nil {
			return err
		}
	}
	return p.Flush()
}

// endOfTrace tells a proper end of a trace from damage. A file whose writer was killed counts
// as whole, as far as it goes.
func (a *app) endOfTrace(err error, path string) error {
	var fault *trace.Fault
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, context.Canceled):
		return nil
	case errors.As(err, &fault) && fault.Unfinished:
		a.printf("podstep: %s: %s", path, fault)
		return nil
	}
	return fmt.Errorf("%s: %w; all before that was printed", path, err)
}

// openError adds what to do about a file that cannot be opened.
func openError(err error) error {
	if errors.Is(err, trace.ErrNoTrace) {
		return fmt.Errorf("%w; podstep trace -w FILE makes one", err)
	}
	return err
}
