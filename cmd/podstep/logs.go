package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/bundle"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/trace/past"
)

// maxLogs bounds how many logs make one story.
const maxLogs = 100

// logFlags say what logs do not say of themselves.
type logFlags struct {
	logs         []string
	year         int
	zone         string
	since, until string
	// past chooses the part of a recording that is wanted.
	past pastChoice
	// named says that --node is about these logs, and not about an agent.
	named bool
}

func (f *logFlags) add(cmd *cobra.Command, use string) {
	f.named = true
	cmd.Flags().StringArrayVar(&f.logs, "log", nil, use)
	cmd.Flags().IntVar(&f.year, "node-year", 0, "the `YEAR` of the end of the kubelet's log, which has none (default: that in which the file was written to last)")
	cmd.Flags().StringVar(&f.zone, "node-zone", "", "the time `ZONE` of the kubelet's log, such as UTC or Europe/Berlin (default: that of this machine)")
	cmd.Flags().StringVar(&f.since, "since", "", "leave out what is older: "+timeHelp)
	cmd.Flags().StringVar(&f.until, "until", "", "leave out what is newer than `TIME`")
}

// given reports whether a flag is given that only logs have.
func (f *logFlags) given() bool { return f.year != 0 || f.zone != "" }

// timed reports whether a flag chooses a time.
func (f *logFlags) timed() bool { return f.since != "" || f.until != "" }

// showsWhat says which command shows all that a recording has.
func (f *logFlags) showsWhat(path string) string {
	if f.past.node != "" {
		return "podstep replay --since TIME shows what the agent of a node has recorded"
	}
	return "podstep replay " + path + " shows what it has"
}

// openLogs opens a trace file, a record directory, the story in a bundle, or logs.
func (a *app) openLogs(ctx context.Context, f *logFlags, names ...string) (trace.Recording, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if f.named {
		o.Node = a.node
	}
	if f.past.from != nil {
		o.Node = "" // the agent's name is the node's
		return a.openPast(f.past.from, f, &o)
	}
	o.Fetch = a.fetchLogs(ctx, &o)
	all := append(names, f.logs...)
	if len(all) == 1 && past.IsDir(all[0]) {
		if f.given() {
			return nil, notForTraces(all)
		}
		return a.openPast(past.Dir(all[0]), f, &o)
	}
	if len(all) == 1 && logstory.IsFile(all[0]) {
		switch r, err := bundle.Story(all[0]); {
		case errors.Is(err, bundle.ErrNoBundle):
		case err != nil:
			return nil, err
		case r != nil:
			return r, nil
		}
	}
	r, err := logstory.OpenAny(all, o)
	if errors.Is(err, logstory.ErrNoLog) {
		return nil, fmt.Errorf("%w, and %w", err, trace.ErrNoTrace)
	}
	if t, is := r.(*trace.Reader); is && err == nil {
		if f.given() || o.Node != "" {
			t.Close()
			return nil, notForTraces(all)
		}
		if until := cmp.Or(o.Until, f.past.at); !until.IsZero() || !o.Since.IsZero() {
			return past.Bound(t, o.Since, until, f.past.context), nil
		}
	}
	return r, err
}

func notForTraces(names []string) error {
	return usagef("%s is a trace; --node-year and --node-zone are for logs, and --node is for logs and record directories", nameOfLogs(names))
}

func (f *logFlags) options() (o logstory.Options, err error) {
	zone := time.Local
	if f.zone != "" {
		if zone, err = time.LoadLocation(f.zone); err != nil {
			return o, usagef("--node-zone %q: there is no such time zone; name one as UTC or Europe/Berlin", f.zone)
		}
		o.Zone = zone
	}
	if f.year < 0 || f.year > 9999 {
		return o, usagef("--node-year %d is no year", f.year)
	}
	if f.year != 0 {
		o.Near = time.Date(f.year, 12, 31, 0, 0, 0, 0, zone)
	}
	if o.Since, err = timeOf("since", f.since, zone); err != nil {
		return o, err
	}
	o.Until, err = timeOf("until", f.until, zone)
	return o, err
}

// nameOfLogs returns how a message names some files.
func nameOfLogs(names []string) string { return strings.Join(names, ", ") }
