package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/cmd/podstep/alerting"
)

// alertOfFiles looks for matches in recordings that are named.
func (a *app) alertOfFiles(ctx context.Context, flags *alertFlags, p *alertPrinter, r *alerting.Recorded) error {
	name := nameOfLogs(append(flags.files, flags.logs.logs...))
	err := a.findMatches(ctx, &flags.logs, p, r, flags.files...)
	if err == nil && r.Once && !r.Matched {
		return fmt.Errorf("nothing in %s matches", name)
	}
	return err
}

// alertOfRecords looks for matches in what the agents of the nodes that the command is about have recorded. Those of
// several nodes are printed in the order of their times.
func (a *app) alertOfRecords(ctx context.Context, flags *alertFlags, p *alertPrinter, r *alerting.Recorded) (err error) {
	if !a.several() {
		if flags.files, err = flags.logs.fromRecord(ctx, a, r.Pods, !r.Node); err != nil {
			return err
		}
		return a.alertOfFiles(ctx, flags, p, r)
	}
	var mu sync.Mutex
	var all []nodeMatch
	err = a.onEach(ctx, false, func(ctx context.Context, node string, c *client.Client) error {
		logs, of := flags.logs, *r
		logs.past.from, logs.past.node = recordOf(ctx, c)
		if !r.Node { // events of the node may be in parts of the record that have none of the pods
			logs.past.pods = r.Pods
		}
		of.Match = func(m *alert.Match) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, nodeMatch{node, m})
			return nil
		}
		return a.unlessNothing(a.findMatches(ctx, &logs, p, &of, logs.past.from.String())) // the other nodes may have something
	})
	slices.SortStableFunc(all, func(x, y nodeMatch) int {
		return cmp.Or(x.Match.Time.Compare(y.Match.Time), cmp.Compare(x.Node, y.Node))
	})
	if r.Once {
		if len(all) == 0 && err == nil {
			return errors.New("nothing that the agents have recorded matches")
		}
		all = all[:min(1, len(all))]
	}
	for _, m := range all {
		if printing := p.print(m.Node, m.Match); printing != nil {
			return printing
		}
	}
	return err
}

// findMatches goes through a recording.
func (a *app) findMatches(ctx context.Context, logs *logFlags, p *alertPrinter, r *alerting.Recorded, names ...string) error {
	from, err := a.openLogs(ctx, logs, names...)
	if err != nil {
		return openError(err)
	}
	defer from.Close()
	if err = r.Run(ctx, from); err != nil {
		err = a.endOfTrace(err, nameOfLogs(append(names, logs.logs...)))
	}
	p.dropped(r.Dropped)
	return err
}
