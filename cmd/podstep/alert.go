package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/alert/action"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/cmd/podstep/alerting"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
)

// alertFlags are the flags of alert.
type alertFlags struct {
	podName
	nodeEvents   bool
	once         bool
	for_         *period
	run, webhook string
	event        bool
	metrics      string
	files        []string
	logs         logFlags
	out          format
}

func (a *app) alert() *cobra.Command {
	var flags alertFlags
	cmd := &cobra.Command{
		Use:   "alert EXPR [POD|GLOB] [-n NAMESPACE] [--once] [--for DURATION] [--run PROGRAM] [--webhook URL] [--event] [--metrics ADDR] [--file FILE] [-o json] [flags]",
		Short: "Wait for something to happen to pods, and act on it",
		Long: `Prints a line whenever EXPR matches, and runs a program, posts to a webhook or writes an
Event about the pod if asked to. EXPR is made of parts that match one after the other for one pod:

  err                            an event or a call, by a filter: podstep help filter
  step=image.pull running>2m     a call that goes on for longer than that
  state=stuck                    a pod's state, as podstep pods prints it
  state=stuck for 5m             a state that has lasted for so long
  A then B                       B comes after A; then B within 30s: in that time
  A then not B within 30s        B does not come after A in that time

What has happened before podstep alert begins does not match. A call that still
goes on and a state that still lasts do, at once.

It ends with Ctrl-C, after --for, or with --once at the first match. If --for runs
out before --once has a match, the exit code is 1. The exit code is also 1 if the
program, the webhook or the Event failed for a match; that ends nothing before.

The program gets the match as JSON on its standard input, and as PODSTEP_POD,
_NAMESPACE, _UID, _STEP, _STATE, _ERROR, _ALERT, _TEXT and _TIME. One runs at a time,
at most one a second, each for at most 30s. With --event kubectl describe shows the match:
each alert has one Event for each pod, which counts. --metrics serves counts of
matches to Prometheus, by pod. --file reads recordings and logs as
podstep replay does, --since what the agents of the nodes have recorded; the time
is then the recording's.`,
		Example: `  podstep alert 'step=image.pull and running>2m'
  podstep alert 'state=stuck for 5m' 'shop/*' --run ./page-me
  podstep alert 'step=cri.StartContainer then err within 30s' --webhook https://hooks.example.com/podstep
  podstep alert 'state=stuck for 5m' --all-nodes --event
  podstep alert 'state=running' web --once --for 2m && echo it runs
  podstep alert 'err then not state=running within 1m' --file node.podstep -o json
  podstep alert 'state=stuck for 5m' --since 6h --all-nodes`,
		Args:              arguments(1, 2, "EXPR [POD|GLOB]"),
		ValidArgsFunction: a.completeAlert,
		RunE: func(cmd *cobra.Command, args []string) error {
			pods := ""
			if len(args) > 1 {
				pods = args[1]
			}
			return a.runAlert(cmd.Context(), args[0], pods, &flags)
		},
	}
	flags.add(cmd)
	return cmd
}

func (f *alertFlags) add(cmd *cobra.Command) {
	f.for_ = newPeriod("--for 2m")
	f.podName.add(cmd)
	cmd.Flags().BoolVar(&f.nodeEvents, "node-events", false, "also events of the node, which belong to no pod")
	cmd.Flags().BoolVar(&f.once, "once", false, "end with the first match")
	f.for_.add(cmd, "for", "how long, like 2m (default: for ever)")
	cmd.Flags().StringVar(&f.run, "run", "", "run `PROGRAM` for each match; it gets no arguments, and no shell is in between")
	cmd.Flags().StringVar(&f.webhook, "webhook", "", "post each match as JSON to `URL`")
	cmd.Flags().BoolVar(&f.event, "event", false, "write an Event about the pod for each match, at most one a second")
	cmd.Flags().StringVar(&f.metrics, "metrics", "", "count matches for Prometheus at `ADDR`; a port alone is one of 127.0.0.1")
	cmd.Flags().StringArrayVar(&f.files, "file", nil, "look for matches in a recording or log `FILE`; may be given more than once for logs of one node")
	f.logs.add(cmd, "one more log `FILE` of the same node")
	f.out.add(cmd, "json")
}

func (a *app) completeAlert(cmd *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return a.completePods(cmd, args[1:], typed)
	}
	for _, c := range filter.Completions(typed, nil) {
		out = append(out, c.Text+"\t"+c.About.En)
	}
	return out, noFiles | cobra.ShellCompDirectiveNoSpace
}

// named reports whether recordings are named.
func (f *alertFlags) named() bool { return len(f.files) > 0 || len(f.logs.logs) > 0 }

// check finds flags that do not go together.
func (f *alertFlags) check() error {
	recorded := f.named() || f.logs.timed()
	switch {
	case recorded && (f.run != "" || f.webhook != "" || f.event || f.metrics != ""):
		return usagef("--run, --webhook, --event and --metrics are for what happens now; a recording is only printed")
	case f.once && f.metrics != "":
		return usagef("with --once podstep ends at the first match, before anybody reads its --metrics")
	case recorded && f.for_.d != 0:
		return usagef("--for is for what happens now; a recording ends by itself")
	case f.logs.given() && !f.named():
		return usagef("--node-year and --node-zone are for logs; name one with --file")
	}
	return nil
}

func (a *app) runAlert(ctx context.Context, expr, pods string, flags *alertFlags) (err error) {
	if err := flags.check(); err != nil {
		return err
	}
	parsed, err := alert.Parse(expr)
	if err != nil {
		return usagef("%q: %v", expr, err)
	}
	sel, err := flags.some(pods)
	if err != nil {
		return err
	}
	catalogue, err := probes.Load()
	if err != nil {
		return err
	}
	p := &alertPrinter{app: a, json: flags.out.value == "json"}
	recorded := &alerting.Recorded{
		Catalogue: catalogue, Alert: parsed, Pods: sel, Node: flags.nodeEvents, Once: flags.once, Match: func(m *alert.Match) error { return p.print("", m) }, Lost: p.lost,
	}
	switch {
	case flags.named():
		return a.alertOfFiles(ctx, flags, p, recorded)
	case flags.logs.timed():
		return a.alertOfRecords(ctx, flags, p, recorded)
	}
	stop, err := p.serveMetrics(expr, flags.metrics)
	if err != nil {
		return err
	}
	defer stop()
	if err := p.addActions(flags); err != nil {
		return err
	}
	err = a.onEach(ctx, flags.once, func(ctx context.Context, node string, c *client.Client) error {
		l := &alerting.Live{
			Client: c, Catalogue: catalogue, Alert: parsed, Pods: sel, Node: flags.nodeEvents, Once: flags.once,
			Match: func(m *alert.Match) error { return p.take(node, m) }, Lost: p.lost, Clock: alerting.RealClock(),
		}
		err := l.Run(ctx, flags.for_.d)
		p.dropped(l.Dropped())
		return err
	})
	if acting := p.end(ctx); err == nil {
		err = acting
	}
	return err
}

// alertPrinter prints matches, and gives them to the actions.
type alertPrinter struct {
	app     *app
	json    bool
	actions []*action.Queue
	metrics *alerting.Metrics // nil: nobody wants any
	mu      sync.Mutex        // of messages: actions fail on goroutines of their own
	taking  sync.Mutex        // of matches: those of several nodes come at once
}

func (p *alertPrinter) addActions(flags *alertFlags) error {
	o := action.Options{After: time.After, Report: func(err error) { p.printf("podstep: %v", err) }}
	var all []action.Action
	if flags.run != "" {
		run, err := action.NewRun(flags.run)
		if err != nil {
			return usagef("--run: %v", err)
		}
		all = append(all, run)
	}
	if flags.webhook != "" {
		hook, err := action.NewWebhook(flags.webhook, time.After)
		if err != nil {
			return usagef("--webhook: %v", err)
		}
		all = append(all, hook)
	}
	if flags.event {
		api, err := p.app.writes("alert")
		if err != nil {
			return err
		}
		all = append(all, alerting.NewEvent(api))
	}
	for _, one := range all {
		o := o
		if _, is := one.(*action.Webhook); !is {
			o.Pause = action.RunPause
		}
		p.actions = append(p.actions, action.NewQueue(one, o))
	}
	return nil
}

// writes returns the API server for a command that changes something there.
func (a *app) writes(purpose string) (*kubeapi.Client, error) {
	config, err := a.clientConfig().ClientConfig()
	if err != nil {
		return nil, kubeconfigError(err)
	}
	config.UserAgent = kubeapi.UserAgent(purpose)
	return kubeapi.New(config)
}

// printf prints a message, from any goroutine.
func (p *alertPrinter) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.app.printf(format, args...)
}

// take prints a match and passes it to the actions.
func (p *alertPrinter) take(node string, m *alert.Match) error {
	p.taking.Lock()
	defer p.taking.Unlock()
	if p.metrics != nil {
		p.metrics.Count(node, m)
	}
	for _, q := range p.actions {
		q.Add(m)
	}
	return p.print(node, m)
}

// nodeMatch is a match with the name of its node, if several are followed.
type nodeMatch struct {
	Node string `json:"node,omitempty"`
	*alert.Match
}

func (p *alertPrinter) print(node string, m *alert.Match) error {
	text := []byte(alertLine(node, m))
	if p.json {
		var err error
		if text, err = words.JSON(nodeMatch{node, m}, ""); err != nil {
			return err
		}
	}
	if _, err := p.app.out.Write(text); err != nil {
		return fmt.Errorf("print a match: %w", err)
	}
	return nil
}

func alertLine(node string, m *alert.Match) string {
	name := "(node)"
	if m.Pod != nil {
		name = words.Clean(m.Pod.NamespacedName())
	}
	if node != "" {
		name = words.Clean(node) + "  " + name
	}
	return fmt.Sprintf("%s %s  %s\n", m.Time.Local().Format(time.DateTime), name, m.Text())
}

// lost reports events that the matcher has not seen.
func (p *alertPrinter) lost(e *probes.Event) {
	p.printf("podstep: events were lost (%s), so a match may be missing", e.Lost())
}

// dropped reports what was not followed.
func (p *alertPrinter) dropped(n uint64) {
	if n > 0 {
		p.printf("podstep: too much was under way: %d calls or sequences were not followed, so matches may be missing", n)
	}
}

// actionsTime is how long podstep waits at its end for actions that wait or go on.
const actionsTime = 30 * time.Second

// end waits for the actions. If a person ends podstep, they end at once.
func (p *alertPrinter) end(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, actionsTime)
	defer cancel()
	var all []error
	for _, q := range p.actions {
		all = append(all, q.End(within))
	}
	return errors.Join(all...)
}
