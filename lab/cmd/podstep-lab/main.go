// Podstep-lab runs a whole Kubernetes node in one directory, in the foreground.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version/verflag"

	"github.com/podstep/podstep/lab"
)

func main() {
	// A reader of our output may end. That must not end us before we have cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "podstep-lab:", err)
		os.Exit(exitCode(err))
	}
}

// exitCode returns 2 if the caller's command line is wrong, and 1 for all other errors.
func exitCode(err error) int {
	var usage *lab.UsageError
	var flag *flagError
	if errors.As(err, &usage) || errors.As(err, &flag) {
		return 2
	}
	return 1
}

// flagError is a command line that cobra could not read.
type flagError struct{ error }

func command() *cobra.Command {
	var options lab.Options
	root := &cobra.Command{
		Use:   "podstep-lab --dir DIR [flags]",
		Short: "Run a whole Kubernetes node in one directory",
		Long: `Run a whole Kubernetes node: etcd, kube-apiserver, kube-scheduler, kube-controller-manager, a container runtime and a kubelet. With --nodes it runs several nodes with one control plane; if the kubelet or the runtime of one of them dies, the others live on.

It stays in the foreground and prints one line that starts with "ready" when the node is Ready. Ctrl-C ends it and removes all that it made, except for DIR/logs.`,
		Args:          noArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			// The Kubernetes packages add a --version to every command line they are linked into.
			verflag.PrintAndExitIfRequested()
			return run(options)
		},
	}
	flags := root.Flags()
	flags.StringVar(&options.Dir, "dir", "", "directory for everything that the lab makes; new, empty, or a lab's")
	flags.StringVar(&options.Runtime, "runtime", "sim", `what runs containers: "sim" simulates them, "containerd" needs root`)
	flags.StringVar(&options.Kubelet, "kubelet", "", "kubelet of a containerd lab (default: podstep-kubelet beside this program)")
	flags.StringVar(&options.Containerd, "containerd", "", "containerd of a containerd lab; its ctr and shim are those beside it (default: the machine's)")
	flags.StringVar(&options.Scenario, "scenario", "", "file that says how the containers of a sim lab behave: see docs/sim.md")
	flags.IntVar(&options.Nodes, "nodes", 1, "how many nodes a sim lab has; each has a kubelet, a runtime and an agent of its own")
	flags.IntVar(&options.KubeletV, "kubelet-v", 2, "log level of the kubelet")
	flags.IntVar(&options.MaxPods, "max-pods", 0, "how many pods the node takes (default: as many as a kubelet does by itself, 110)")
	flags.IntVar(&options.Devices, "devices", 0, "how many devices of the lab's own DRA driver each node of a sim lab has (default: no driver)")
	flags.IntVar(&options.DevicePlugin, "device-plugin", 0, "how many devices of the lab's own device plugin each node of a sim lab has (default: no plugin)")
	flags.BoolVar(&options.Storage, "storage", false, "each node of a sim lab has the lab's own CSI driver")
	flags.BoolVar(&options.RestartKubelet, "restart-kubelet", false, "start the kubelet again when it ends, instead of ending the lab")
	flags.BoolVar(&options.RestartRuntime, "restart-runtime", false, "start the container runtime again when it ends, instead of ending the lab")
	flags.IntVar(&options.Port, "port", 0, "port of the kube-apiserver on 127.0.0.1 (default: a free one)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return &flagError{fmt.Errorf("%w: see podstep-lab --help", err)}
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(cleanCommand(), kubectlCommand(), pressureCommand(), exploreCommand(), whatifCommand(), componentCommand())
	return root
}

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &flagError{fmt.Errorf("what is %q? see podstep-lab --help", args[0])}
	}
	return nil
}

func run(options lab.Options) error {
	// Further signals change nothing: the cleanup takes a few seconds, and kill -9 is always possible.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	options.Progress = func(part string, took time.Duration) {
		fmt.Fprintf(os.Stderr, "%-24s %5.1fs\n", part, took.Seconds())
	}
	options.Lost = func(err error) { fmt.Fprintln(os.Stderr, "podstep-lab:", err) }
	l, err := lab.Start(ctx, options)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return errors.New("ended before the node was ready")
		}
		return err
	}
	fmt.Println(ready(l))
	died := l.Wait(ctx)
	fmt.Fprintln(os.Stderr, "ending")
	return errors.Join(died, l.Stop())
}

// ready returns the line that scripts wait for.
func ready(l *lab.Lab) string {
	state := l.State()
	line := fmt.Sprintf("ready in %.1fs  kubeconfig %s", l.Took().Seconds(), state.Kubeconfig)
	for _, n := range state.Nodes {
		// An unmodified kubelet has no agent.
		if _, err := os.Stat(n.Agent); err == nil {
			line += "  agent " + n.Agent
		}
	}
	return line
}

func cleanCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "clean --dir DIR",
		Short: "Remove what a lab left behind, its logs included",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return lab.Clean(dir) },
	}
	c.Flags().StringVar(&dir, "dir", "", "directory of the lab")
	return c
}

// componentCommand returns the command by which the lab starts its parts: see component.go.
func componentCommand() *cobra.Command {
	var cgroup string
	c := &cobra.Command{
		Use:    "component NAME -- FLAGS",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			code, err := runComponent(cgroup, args[0], args[1:])
			if err == nil {
				os.Exit(code)
			}
			return err
		},
	}
	c.Flags().StringVar(&cgroup, "cgroup", "", "cgroup to join first")
	return c
}
