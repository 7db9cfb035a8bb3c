package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/node"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes/words"
)

// attachFlags state which kubelet, and how.
type attachFlags struct {
	pid      int
	probes   []string
	noTUI    bool
	readOnly bool
}

func (a *app) attach() *cobra.Command {
	var ui uiFlags
	var flags attachFlags
	cmd := &cobra.Command{
		Use:   "attach [--pid PID] [--probe cri,api,kubelet] [--no-tui] [flags]",
		Short: "Attach to the kubelet that is running, without a restart",
		Long: `Comes between a running kubelet and its container runtime, and opens the screen.
It shows every call about a pod, and can hold a pod before a call. podstep
restarts and changes neither of the two. When you leave the screen, they are
connected as before.

podstep takes over the path of the runtime's socket by a rename, and asks the
kubelet to connect again; calls that are under way end on their old connection.
A process of its own stands between the two, with a guard: if podstep hangs or
is killed, calls go on, and the socket is given back. podstep restore does so by
hand.

podstep also asks the API server and the kubelet's /pods, if there is a
kubeconfig that may read pods: --kubeconfig, $KUBECONFIG, the node's admin.conf,
the kubelet's own. Without one it shows only the calls.

These three are probes, and --probe chooses among them. If one cannot start, or
fails later, podstep reports that and the others go on.

With --no-tui there is no screen: podstep serves the agent for other podsteps,
until Ctrl-C or SIGTERM.`,
		Example: `  sudo podstep attach
  sudo podstep attach --no-tui &
  sudo podstep attach --probe api,kubelet
  sudo podstep break add default/web --step cri.RunPodSandbox`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.attachTo(cmd.Context(), &flags, &ui) },
	}
	cmd.Flags().IntVar(&flags.pid, "pid", 0, "the kubelet's `PID` (default: the only one on this machine)")
	cmd.Flags().StringSliceVar(&flags.probes, "probe", nil, "what sees the steps, of `cri,api,kubelet` (default: all that can)")
	cmd.RegisterFlagCompletionFunc("probe", completeProbes)
	cmd.Flags().BoolVar(&flags.noTUI, "no-tui", false, "serve the agent without a screen")
	cmd.Flags().BoolVar(&flags.readOnly, "read-only", false, "hold no pod and inject no fault, whoever asks")
	ui.addLive(cmd)
	return cmd
}

func (a *app) attachTo(ctx context.Context, flags *attachFlags, ui *uiFlags) error {
	o, err := ui.options()
	if err != nil {
		return err
	}
	var screen atomic.Bool
	options := node.AttachOptions{
		PID: flags.pid, Probes: flags.probes, Socket: a.socketOrDefault(), Kubeconfig: ui.kubeconfig, ReadOnly: flags.readOnly,
		Print: func(line string) {
			if !screen.Load() { // there the node's story has it
				a.printf("%s", line)
			}
		},
	}
	return node.Attach(ctx, options, func(ctx context.Context) error {
		a.printReach(ctx)
		if flags.noTUI {
			fmt.Fprintf(a.out, "ready  %s\n", words.Clean(a.socketOrDefault()))
			<-ctx.Done()
			return nil
		}
		screen.Store(true)
		defer screen.Store(false)
		return a.live(ctx, ui, o)
	})
}

// printReach reports what each of the probes can do that podstep hosts now. The agent
// has said of the others why they see nothing.
func (a *app) printReach(ctx context.Context) {
	c, err := client.Dial(ctx, a.socketOrDefault())
	if err != nil {
		return // whoever wants something of the agent gets the error then
	}
	defer c.Close()
	for i, p := range c.About().GetProbes() {
		if wire.Works(p) {
			text, _, _ := reach.Text(c.About(), i)
			a.printf("probe %s", text)
		}
	}
}

// socketOrDefault is where an agent of ours is served.
func (a *app) socketOrDefault() string {
	if a.socket != "" {
		return a.socket
	}
	return client.DefaultSocket()
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
