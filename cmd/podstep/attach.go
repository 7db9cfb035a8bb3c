package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/node"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes/words"
)

// attachFlags say which kubelet to attach to, and how.
type attachFlags struct {
	pid      int
	node     string
	probes   []string
	noTUI    bool
	readOnly bool
	holds    bool
	metrics  string
	passive  bool
	allCalls bool
	tier     int
	delve    string
	risk     bool
	raise    int
	raiseFor *period
	record   string
	keep     size
	without  choice
	tokens   string
	keepFor  *period
}

const attachLong = `Comes between a running kubelet and its container runtime, and opens the screen.
It shows every call about a pod, and can hold a pod before a call. podstep
restarts and changes neither of the two. When you leave the screen, they are
connected as before.

podstep takes over the path of the runtime's socket by a rename, and asks the
kubelet to connect again; calls that are under way end on their old connection.
A process of its own stands between the two, with a guard: if podstep hangs or
is killed, calls go on, and the socket is given back. podstep restore does so by
hand.

podstep looks into the kubelet too, through uprobes and an eBPF program: it sees
most steps of a stripped kubelet, and neither stops it nor changes its memory.
It looks at the steps that belong to every pod's story, and at all steps of a pod
that is watched closely: the selected one on the screen, and those of podstep trace
POD. With --tier 2 it looks at all steps of all pods all the time, which costs the
kubelet more. With --allow-holds pods can be held there as well: only the pod's own goroutine waits, and the kernel ends the wait if podstep
does not renew it.

podstep also asks the API server and the kubelet's /pods, if there is a
kubeconfig that may read pods: --kubeconfig, $KUBECONFIG, the node's admin.conf,
the kubelet's own. Without one it shows only the calls.

With --probe delve a Delve of podstep's own stops the kubelet at each step, by a
breakpoint, and reads its variables if it has debug information. Each stop stops
the whole kubelet, so podstep does that only with --risk-the-kubelet. To hold a pod,
podstep does not stop a kubelet that was built without optimisation: only the pod's
own goroutine waits. With --delve podstep uses a headless Delve that you have started.

With --probe log,api podstep follows what the kubelet and containerd log: a file to
which their standard error goes, or the journal. It takes no right inside of the
kubelet. It shows what the kubelet's -v lets it log; see docs/log.md.

With --raise-verbosity the kubelet logs with a higher -v for the time of --for. Then
podstep puts the old one back. So it does when it ends, and a process of its own
does if podstep is killed. This takes the right to update nodes/proxy.

These are probes, and --probe chooses among them. If one cannot start, or
fails later, podstep reports that and the others go on. --passive leaves out those
that stand in the path of the kubelet's calls: podstep then shows only what
the others see, and can hold no pod.

With --record-dir podstep also records all events to the directory DIR, in compressed
files of at most --keep in all; the oldest go first. What was recorded survives podstep
and the node: podstep why web --at 03:12 and podstep replay --since 1h read it later.
The kubelet never waits for the disk.

A podstep of another machine comes through podstep agent-stdio, with a token of the
ServiceAccount podstep-look or podstep-hold of --token-namespace. podstep asks the API
server whether the token is valid. --without-token is what it may do without one.

With --no-tui there is no screen: podstep serves the agent for other podsteps,
until Ctrl-C or SIGTERM. With --metrics it also serves metrics for Prometheus:
calls and what they take, holds, faults, losses, the state of the probes.`

func (a *app) attach() *cobra.Command {
	var ui uiFlags
	var flags attachFlags
	cmd := &cobra.Command{
		Use:   "attach [--pid PID] [--probe cri,uprobe,delve,log,api,kubelet] [--no-tui] [flags]",
		Short: "Attach to the kubelet that is running, without a restart",
		Long:  attachLong,
		Example: `  sudo podstep attach
  sudo podstep attach --no-tui &
  sudo podstep attach --probe api,kubelet
  sudo podstep attach --probe log,api
  sudo podstep attach --probe log,api --raise-verbosity 4 --for 2m
  sudo podstep attach --allow-holds
  sudo podstep attach --passive
  sudo podstep attach --no-tui --metrics :9090
  sudo podstep attach --passive --no-tui --record-dir /var/lib/podstep/record --keep 1GiB
  sudo podstep break add default/web --step cri.RunPodSandbox`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(a.agents) > 1 {
				return usagef("podstep attach serves an agent at one socket, and --socket names %d; name one", len(a.agents))
			}
			return a.attachTo(cmd.Context(), &flags, &ui)
		},
	}
	flags.addTo(cmd)
	ui.addLive(cmd)
	return cmd
}

// addTo declares the flags.
func (f *attachFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.pid, "pid", 0, "the kubelet's `PID` (default: the only one on this machine)")
	cmd.Flags().StringVar(&f.node, "node", "", "the `NAME` by which the API server knows the node (default: as the kubelet's certificate or settings have it)")
	cmd.Flags().StringSliceVar(&f.probes, "probe", nil, "what sees the steps, of `cri,uprobe,delve,log,api,kubelet` (default: all that can, but delve and log)")
	cmd.RegisterFlagCompletionFunc("probe", completeProbes)
	cmd.Flags().BoolVar(&f.noTUI, "no-tui", false, "serve the agent without a screen")
	cmd.Flags().BoolVar(&f.readOnly, "read-only", false, "hold no pod and inject no fault, whoever asks")
	cmd.Flags().BoolVar(&f.holds, "allow-holds", false, "let pods be held inside of the kubelet, not only before its calls to the runtime")
	cmd.Flags().BoolVar(&f.allCalls, "all-calls", false, "show also the calls that are no steps of their own, by their method alone")
	cmd.Flags().BoolVar(&f.passive, "passive", false, "put nothing in the path of the kubelet's calls: leave out the cri probe, hold no pod")
	f.without = choice{"look", agentpb.Rights}
	f.without.add(cmd, "without-token", "", "what podsteps of other machines may do that show no token of podstep-look or podstep-hold")
	cmd.Flags().StringVar(&f.tokens, "token-namespace", agentNamespace, "the `NAMESPACE` of these two ServiceAccounts")
	cmd.Flags().StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at `ADDR`; a port alone is one of 127.0.0.1")
	cmd.Flags().StringVar(&f.delve, "delve", "", "let the headless Delve at `HOST:PORT` stop the kubelet that it debugs")
	cmd.Flags().BoolVar(&f.risk, "risk-the-kubelet", false, "let the delve probe put breakpoints into the kubelet's code; of variables only numbers and listed texts are shown")
	cmd.Flags().IntVar(&f.raise, "raise-verbosity", 0, "make the kubelet log with -v=`N`, at most 6, for the time of --for")
	f.raiseFor = newPeriod("--for 2m")
	f.raiseFor.add(cmd, "for", "how long the kubelet logs more, at most 30m (default: 2m)")
	cmd.Flags().StringVar(&f.record, "record-dir", "", "record all events to the directory `DIR`, such as "+defaultRecordDir)
	f.keep = past.DefaultKeep
	cmd.Flags().Var(&f.keep, "keep", "the most that DIR takes, at least 1MiB; the oldest events go first")
	f.keepFor = newPeriod("--keep-for 72h")
	f.keepFor.add(cmd, "keep-for", "delete what is older (default: only what finds no room)")
	cmd.Flags().IntVar(&f.tier, "tier", 1, "the steps that the uprobe probe looks at all the time: `1` for those of every pod's story, 2 for all")
}

func (a *app) attachTo(ctx context.Context, flags *attachFlags, ui *uiFlags) error {
	if flags.noTUI {
		if err := ui.withoutScreen("--no-tui serves the agent"); err != nil {
			return err
		}
	}
	o, err := ui.options()
	if err != nil {
		return err
	}
	if flags.tier != 1 && flags.tier != 2 {
		return usagef("--tier %d: it is 1 or 2", flags.tier)
	}
	raiseFor, err := flags.raising()
	if err != nil {
		return err
	}
	if err := flags.checkRecord(); err != nil {
		return err
	}
	var screen atomic.Bool
	options := node.AttachOptions{
		PID: flags.pid, Node: flags.node, Probes: flags.probes, Socket: a.socketOrDefault(), Kubeconfig: a.kubeconfig, ReadOnly: flags.readOnly, Passive: flags.passive, AllCalls: flags.allCalls,
		WithoutToken: flags.without.value, TokenNamespace: flags.tokens, AllowHolds: flags.holds, Tier: flags.tier, Metrics: flags.metrics, Delve: flags.delve, RiskKubelet: flags.risk,
		RaiseVerbosity: flags.raise, RaiseFor: raiseFor, Record: flags.record, Keep: int64(flags.keep), KeepFor: flags.keepFor.d,
		Print: func(line string) {
			if !screen.Load() { // on the screen, the node's story has it
				a.printf("%s", line)
			}
		},
	}
	return node.Attach(ctx, options, func(ctx context.Context) error {
		without := a.printReach(ctx)
		if flags.noTUI {
			fmt.Fprintln(a.out, readyLine(a.socketOrDefault(), without))
			<-ctx.Done()
			return nil
		}
		screen.Store(true)
		defer screen.Store(false)
		return a.live(ctx, ui, o)
	})
}

// defaultRaise is how long the kubelet logs more, and longestRaise for how long at most; highestRaise is the highest -v:
// from 8 on the kubelet logs the bodies of requests.
const (
	defaultRaise = 2 * time.Minute
	longestRaise = 30 * time.Minute
	highestRaise = 6
)

// raising checks the flags about the kubelet's -v, and returns how long it is raised.
func (f *attachFlags) raising() (time.Duration, error) {
	switch d := cmp.Or(f.raiseFor.d, defaultRaise); {
	case f.raise == 0 && f.raiseFor.d != 0:
		return 0, usagef("--for is how long --raise-verbosity lasts; give that, too")
	case f.raise < 0 || f.raise > highestRaise:
		return 0, usagef("--raise-verbosity %d: it is from 1 to %d", f.raise, highestRaise)
	case d > longestRaise:
		return 0, usagef("--for %s: it is at most %s", d, longestRaise)
	case f.raise != 0 && f.readOnly:
		return 0, usagef("--read-only and --raise-verbosity: that changes what the kubelet logs; leave out one of the two")
	default:
		return d, nil
	}
}

// checkRecord checks the flags about the record directory.
func (f *attachFlags) checkRecord() error {
	switch {
	case f.record == "" && (f.keepFor.d != 0 || f.keep != past.DefaultKeep):
		return usagef("--keep and --keep-for are about a record directory; name one with --record-dir")
	case f.keep < past.MinKeep:
		return usagef("--keep %s is too little; the least is %s", &f.keep, sizeText(past.MinKeep))
	}
	return nil
}

// printReach reports what each probe that podstep hosts now can do. It returns the names of those that see nothing: the
// agent has said why.
func (a *app) printReach(ctx context.Context) (without []string) {
	c, err := client.Dial(ctx, a.socketOrDefault())
	if err != nil {
		return nil // a command that needs the agent gets the error then
	}
	defer c.Close()
	for i, p := range c.About().GetProbes() {
		if wire.Works(p) && !wire.Retries(p) {
			text, _, _ := reach.Text(c.About(), i)
			a.printf("probe %s", text.En)
		}
	}
	return sightless(c.About().GetProbes())
}

// sightless returns the names of the probes that somebody wants, and that see nothing now.
func sightless(all []*agentpb.Probe) (names []string) {
	for _, p := range all {
		if wire.Retries(p) || p.GetState() == agentpb.ProbeState_PROBE_FAILED {
			names = append(names, p.GetName())
		}
	}
	return names
}

// readyLine returns the line by which a person or a script knows that the agent is served at a socket, and which of the
// probes see nothing.
func readyLine(socket string, without []string) string {
	line := "ready  " + words.Clean(socket)
	if len(without) > 0 {
		line += "  without " + strings.Join(without, ", ")
	}
	return line
}

// completeProbes completes the last of several names.
func completeProbes(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	before := text[:strings.LastIndexByte(text, ',')+1]
	var out []string
	for _, n := range node.ProbeNames() {
		if !slices.Contains(strings.Split(before, ","), n) {
			out = append(out, before+n)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
