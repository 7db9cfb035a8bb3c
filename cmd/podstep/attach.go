package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes/kubelets"
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
If podstep is killed, a guard gives the socket back; podstep restore does so by
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
	cmd.Flags().StringSliceVar(&flags.probes, "probe", nil, "what sees the steps, of `"+strings.Join(probeNames(), ",")+"` (default: all that can)")
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
	kinds, err := chooseProbes(flags.probes)
	if err != nil {
		return err
	}
	k, err := a.chooseKubelet(ctx, flags.pid)
	if err != nil {
		return err
	}
	ctx, hurry, stop := endings(ctx)
	defer stop()
	stayAlive()
	var screen atomic.Bool
	s, err := attach.Start(ctx, attach.Options{
		Kubelet: k, Probes: kinds, Socket: a.socketOrDefault(), Kubeconfig: ui.kubeconfig, ReadOnly: flags.readOnly,
		Print: func(line string) {
			if !screen.Load() { // there the node's story has it
				a.printf("%s", line)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("attach to the kubelet with pid %d: %w", k.PID, err)
	}
	a.printReach(ctx)
	if flags.noTUI {
		fmt.Fprintf(a.out, "ready  %s\n", words.Clean(a.socketOrDefault()))
		<-ctx.Done()
	} else {
		screen.Store(true)
		err = a.live(ctx, ui, o)
		screen.Store(false)
	}
	return errors.Join(err, s.Stop(hurry))
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

// stayAlive has this process neither stop nor end by what becomes of its
// terminal or of who reads its words: while it is attached all calls of the
// kubelet go through it. The programs that it starts inherit what is ignored:
// the guard, and those with which a kubeconfig logs in, for which the same holds.
func stayAlive() {
	// Ctrl-Z, and reading or writing in the background. A signal that is caught
	// instead would have the read or write begin again and again.
	signal.Ignore(syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	// Writing to a pipe that nobody reads any more, as of the tee that the same
	// Ctrl-C has ended, fails as any write may. Nobody has to know of it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}

// endings are when to end in order, and when to end at once: at the first and
// at the second signal. A terminal that is closed is a signal too, unless
// podstep was started to outlive it, as by nohup.
func endings(ctx context.Context) (end, hurry context.Context, stop func()) {
	end, cancel := context.WithCancel(ctx)
	hurry, cut := context.WithCancel(context.WithoutCancel(ctx))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	over := make(chan struct{})
	go func() {
		for _, do := range []func(){cancel, cut} {
			select {
			case <-signals:
				do()
			case <-over:
				return
			}
		}
	}()
	return end, hurry, func() { signal.Stop(signals); close(over); cancel(); cut() }
}

// chooseKubelet finds the kubelet that is meant.
func (a *app) chooseKubelet(ctx context.Context, pid int) (k kubelets.Kubelet, err error) {
	if os.Geteuid() != 0 {
		return k, errors.New("attaching to a kubelet takes root: run sudo podstep attach; podstep doctor says what else it takes")
	}
	if pid != 0 {
		return kubelets.ByPID(ctx, pid, kubelets.Options{})
	}
	all, err := kubelets.Find(ctx, kubelets.Options{})
	if err != nil {
		return k, err
	}
	k, err = kubelets.Choose(all)
	var several *kubelets.SeveralError
	switch {
	case errors.Is(err, kubelets.ErrNone):
		return k, errors.New("no kubelet runs on this machine; podstep lab starts a node of your own")
	case errors.As(err, &several):
		for _, line := range strings.Split(strings.TrimSpace(kubelets.Table(all)), "\n") {
			a.printf("%s", line)
		}
		return k, usagef("%d kubelets run on this machine; choose one with --pid", len(all))
	}
	return k, err
}
