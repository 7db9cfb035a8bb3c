package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/bundle"
	"github.com/podstep/podstep/agent/logstory"
	"github.com/podstep/podstep/agent/trace"
)

// maxLogs bounds how many logs make one story.
const maxLogs = 100

// logFlags say what logs do not say of themselves.
type logFlags struct {
	logs         []string
	year         int
	zone         string
	node         string
	since, until string
	// kubeFlags say where the logs of a node on another machine are asked for.
	kubeFlags
}

func (f *logFlags) add(cmd *cobra.Command, use string) {
	if cmd.Flags().Lookup("kubeconfig") == nil {
		f.kubeFlags.add(cmd)
	}
	cmd.Flags().StringArrayVar(&f.logs, "log", nil, use)
	cmd.Flags().StringVar(&f.node, "node", "", "only the node `NAME`, of several that --socket names; of a log, the name of its node; of a directory or archive with logs of several nodes: that of the directory with its logs")
	cmd.Flags().IntVar(&f.year, "node-year", 0, "the `YEAR` of the end of the kubelet's log, which has none (default: that in which the file was written to last)")
	cmd.Flags().StringVar(&f.zone, "node-zone", "", "the time `ZONE` of the kubelet's log, such as UTC or Europe/Berlin (default: that of this machine)")
	cmd.Flags().StringVar(&f.since, "since", "", "of logs, leave out what is older: a `TIME` as 2026-11-25T15:06:00, or as 15:06 of the last day")
	cmd.Flags().StringVar(&f.until, "until", "", "of logs, leave out what is newer than `TIME`")
}

// given reports whether a flag is given that a trace does not have.
func (f *logFlags) given() bool { return f.ofLogs() || f.node != "" }

// ofLogs reports whether a flag is given that only logs have. An agent has a node, too.
func (f *logFlags) ofLogs() bool {
	return f.year != 0 || f.zone != "" || f.since != "" || f.until != ""
}

// openLogs opens a trace file, the story in a bundle, or logs.
func (a *app) openLogs(ctx context.Context, f *logFlags, names ...string) (trace.Recording, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	o.Fetch = a.fetchLogs(ctx, &f.kubeFlags, &o)
	all := append(names, f.logs...)
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
	if t, is := r.(*trace.Reader); is && err == nil && f.given() {
		t.Close()
		return nil, usagef("%s is a trace; --node, --node-year, --node-zone, --since and --until are for logs", nameOfLogs(all))
	}
	return r, err
}

func (f *logFlags) options() (o logstory.Options, err error) {
	o.Node = f.node
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
	if o.Since, err = logTime("since", f.since, zone); err != nil {
		return o, err
	}
	o.Until, err = logTime("until", f.until, zone)
	return o, err
}

// logTime reads a time of a flag, in the zone of the logs.
func logTime(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			now := time.Now().In(zone)
			at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, zone)
			if at.After(now) {
				at = at.AddDate(0, 0, -1)
			}
			return at, nil
		}
	}
	return time.Time{}, usagef("--%s %q is no time; write it as 2026-11-25T15:06:00 or 15:06", flag, text)
}

// nameOfLogs returns how a message names some files.
func nameOfLogs(names []string) string { return strings.Join(names, ", ") }
