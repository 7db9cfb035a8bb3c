package main

import (
	"errors"
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
alone. podstep also lets pods go on that are held inside a kubelet by a podstep
that has died, and puts back the -v of a kubelet that such a podstep has raised.

podstep finds these sockets in the records of its takeovers. Without a record,
give SOCKET: the path at which the kubelet finds its runtime.`,
		Example: `  sudo podstep restore
  sudo podstep restore /run/containerd/containerd.sock`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restoreAll(&out,
				func() ([]node.Restored, error) { return node.Restore(dir, args) },
				func() ([]node.Restored, error) { return node.LetGo(cmd.Context()) },
				func() ([]node.Restored, error) { return node.Lower(cmd.Context(), dir) },
			)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", node.TakeoversDir, "`DIR` with the records of takeovers")
	out.add(cmd, "json", "yaml")
	return cmd
}

// restoreAll does the parts of a restore in their order, and each whatever becomes of the others: the whole node needs the
// sockets, and no goroutine that stays where it is keeps them from it.
func (a *app) restoreAll(out *format, parts ...func() ([]node.Restored, error)) error {
	found, failed := []node.Restored{}, error(nil)
	for _, restore := range parts {
		more, err := restore()
		found, failed = append(found, more...), errors.Join(failed, err)
	}
	if len(found) > 0 || failed == nil || out.value != "" {
		failed = errors.Join(failed, out.print(a.out, found, func(w io.Writer) { restoredText(w, found) }))
	}
	if notRestored := a.printNotRestored(found); failed == nil {
		return notRestored
	}
	return failed
}

func restoredText(w io.Writer, found []node.Restored) {
	if len(found) == 0 {
		fmt.Fprintln(w, "there is nothing to restore")
	}
	for _, r := range found {
		fmt.Fprintln(w, words.Clean(r.Name()))
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

// printNotRestored reports what could not be done, and returns an error if there is any.
func (a *app) printNotRestored(found []node.Restored) error {
	var err error
	for _, r := range found {
		if r.Error != "" {
			a.printf("podstep: %s: %s", r.Name(), r.Error)
			err = errQuiet
		}
	}
	return err
}
