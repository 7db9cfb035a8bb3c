package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/words"
)

func (a *app) restore() *cobra.Command {
	var out format
	var dir string
	cmd := &cobra.Command{
		Use:   "restore [SOCKET...] [-o json|yaml]",
		Short: "Give runtimes their sockets back after a podstep attach that was killed",
		Long: `Gives runtimes their sockets back, and removes what is left of podsteps that died
without doing so: both podstep attach and its guard were killed. A podstep that
lives is left alone.

It finds them by what podstep wrote down. A SOCKET, the path at which the kubelet
has the runtime's, is looked at in any case.`,
		Example: `  sudo podstep restore
  sudo podstep restore /run/containerd/containerd.sock`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := takeover.Restore(dir, args...)
			if err != nil {
				return err
			}
			if err := out.print(a.out, found, func(w io.Writer) { restoredText(w, found) }); err != nil {
				return err
			}
			return a.printNotRestored(found)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", takeover.DefaultDir, "`DIR` in which takeovers are written down")
	out.add(cmd, "json", "yaml")
	return cmd
}

func restoredText(w io.Writer, found []takeover.Restored) {
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
			fmt.Fprintf(w, "  left alone: %s holds it, and lives; end that one to give it back\n", who)
		}
	}
}

// printNotRestored reports what could not be done, and fails if that is anything.
func (a *app) printNotRestored(found []takeover.Restored) error {
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
func socketName(r takeover.Restored) string {
	if r.Root == "" {
		return r.Socket
	}
	return r.Socket + " below " + r.Root
}
