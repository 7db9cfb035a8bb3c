package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/tui/session"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	follow bool
	filter filterFlag
	out    format
}

func (a *app) replay() *cobra.Command {
	var flags replayFlags
	var ui uiFlags
	cmd := &cobra.Command{
		Use:   "replay FILE [--filter FILTER] [--follow] [--plain] [-o wide|json] [flags]",
		Short: "Look at a recorded trace",
		Long: `Shows a file that podstep trace -w has written. It needs no agent.

At a terminal it opens the screen, with a clock: Space plays, "," and "." go from
event to event. With --plain, -o or --follow, and where there is no terminal, it
prints the events as podstep trace does. If the file is cut short or damaged,
podstep shows what comes before that place; the exit code is then 1.`,
		Example: `  podstep replay web.podstep
  podstep replay web.podstep --filter 'step~cri.* slow>1s'
  podstep replay web.podstep -o json | jq -c 'select(.error) | [.step, .error]'
  podstep replay web.podstep --follow`,
		Args: arguments(1, 1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := ui.options()
			if err != nil {
				return err
			}
			if o.Plain != "" || flags.follow || flags.out.value != "" {
				return a.printTrace(cmd.Context(), args[0], &flags)
			}
			s, err := session.NewReplay(args[0])
			if err != nil {
				return openError(err)
			}
			o.Filter = flags.filter.String()
			return a.show(cmd.Context(), s, o)
		},
	}
	cmd.Flags().BoolVarP(&flags.follow, "follow", "f", false, "wait for more, as long as the file is being written")
	flags.filter.add(cmd)
	flags.out.add(cmd, "wide", "json")
	ui.add(cmd)
	return cmd
}

// printTrace prints the events of a trace file as lines.
func (a *app) printTrace(ctx context.Context, path string, flags *replayFlags) error {
	r, err := trace.Open(path)
	if err != nil {
		return openError(err)
	}
	defer r.Close()
	if flags.follow {
		r.Follow(ctx)
	}
	p := &lines.Printer{Out: a.out, Filter: &flags.filter.Filter, Lines: &lines.JSON{}}
	if flags.out.value != "json" {
		p.Lines = lines.NewStory(flags.out.wide(), true)
		h := r.Header()
		a.printf("%s of %s, kubelet %s, recorded %s by podstep %s", h.Selection, h.Info.GetNode(), h.Info.GetKubeletVersion(), h.Began.Local().Format("2006-01-02 15:04:05"), h.Podstep)
	}
	decode := wire.NewDecoder(r.Header().Info)
	for ctx.Err() == nil {
		b, err := r.Next()
		if err != nil {
			return a.endOfTrace(err, path)
		}
		if err := printBatch(p, decode, b); err != nil {
			return err
		}
	}
	return nil
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
