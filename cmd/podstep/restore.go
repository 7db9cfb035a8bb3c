package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/cmd/podstep/node"
	"github.com/podstep/podstep/probes/words"
)

func (a *app) restore() *cobra.Command {
	var out format
	var dir string
	cmd := &cobra.Command{
		Use:   "restore [SOCKET...] [-o json|yaml]",
		Short: "Give runtimes their sockets back after a podstep attach that was killed",
		Long: `Gives runtimes their sockets back after podstep attach and its guard were both
killed, and removes what they left behind. A podstep that still runs is left
alone. Pods that are held inside of a kubelet by a podstep that does not run any
more go on.

podstep finds these sockets in the records of its takeovers. Without a record,
give SOCKET: the path at which the kubelet finds its runtime.`,
		Example: `  sudo podstep restore
  sudo podstep restore /run/containerd/containerd.sock`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.letGoInside(cmd.Context()); err != nil {
				return err
			}
			found, err := node.Restore(dir, args)
			if err != nil {
				return err
			}
			if err := out.print(a.out, found, func(w io.Writer) { restoredText(w, found) }); err != nil {
				return err
			}
			return a.printNotRestored(found)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", node.TakeoversDir, "`DIR` with the records of takeovers")
	out.add(cmd, "json", "yaml")
	return cmd
}

// letGoInside lets pods go on that are held inside of kubelets, and reports them.
func (a *app) letGoInside(ctx context.Context) error {
	held, err := node.LetGo(ctx)
	for _, h := range held {
		a.printf("process %d: %d goroutines that were held go on", h.PID, h.Held)
	}
	return err
}

func restoredText(w io.Writer, found []node.Restored) {
	if len(found) == 0 {
		fmt.Fprintln(w, "there is nothing to restore")
	}
	for _, r := range found {
		fmt.Fprintln(w, words.Clean(socketName(r)))
		for _, d := range r.Done {
			fmt.Fprintf(w, "  %s\n", words.Clean(d))
		}
		if r.Living {
			who := fmt.Sprintf("process %d", r.PID)
			if r.PID == 0 {
				who = "another process"
			}
			fmt.Fprintf(w, "  left alone: %s still has it; end that process to give it back\n", who)
		}
	}
}

// printNotRestored reports what could not be done, and fails if that is anything.
func (a *app) printNotRestored(found []node.Restored) error {
	var err error
	for _, r := range found {
		if r.Error != "" {
			a.printf("podstep: %s: %s", socketName(r), r.Error)
			err = errQuiet
		}
	}
	return err
}

// socketName tells sockets of the same path apart that are of different nodes.
func socketName(r node.Restored) string {
	if r.Root == "" {
		return r.Socket
	}
	return r.Socket + " below " + r.Root
}
