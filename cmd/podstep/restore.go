package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

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
			r := restoring{
				giveBack: func() ([]node.Restored, error) { return node.Restore(dir, args) },
				letGo:    func() ([]node.LetGone, error) { return node.LetGo(cmd.Context()) },
				lower:    func() ([]node.Lowered, error) { return node.Lower(cmd.Context(), dir) },
			}
			return a.restoreAll(&out, &r)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", node.TakeoversDir, "`DIR` with the records of takeovers")
	out.add(cmd, "json", "yaml")
	return cmd
}

// restoring are the parts of a restore.
type restoring struct {
	giveBack func() ([]node.Restored, error)
	letGo    func() ([]node.LetGone, error)
	lower    func() ([]node.Lowered, error)
}

// restoreAll gives sockets back, and then lets pods go on that are held inside of kubelets. The whole node needs the
// sockets, and no goroutine that stays where it is keeps them from it: each part is done whatever becomes of the other.
func (a *app) restoreAll(out *format, r *restoring) error {
	found, err := r.giveBack()
	if err == nil {
		err = errors.Join(out.print(a.out, found, func(w io.Writer) { restoredText(w, found) }), a.printNotRestored(found))
	}
	held, notHeld := r.letGo()
	for _, h := range held {
		if h.Held > 0 {
			a.printf("process %d: %d goroutines that were held go on", h.PID, h.Held)
		}
		if h.Net {
			a.printf("process %d: the breakpoints of a debugger process that has died are taken back", h.PID)
		}
	}
	if notHeld != nil {
		notHeld = fmt.Errorf("let goroutines go on: %w", notHeld)
	}
	lowered, notLowered := r.lower()
	for _, l := range lowered {
		if l.Err != nil {
			notLowered = errors.Join(notLowered, fmt.Errorf("put the -v of kubelet %d back: %w", l.PID, l.Err))
			continue
		}
		a.printf("kubelet %d logs with -v=%d again", l.PID, l.Old)
	}
	return joined(err, notHeld, notLowered)
}

// joined joins errors. Those of which all has been printed add no empty line.
func joined(errs ...error) error {
	worded := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil || err.Error() == "" })
	if len(worded) == 0 {
		return errors.Join(errs...)
	}
	return errors.Join(worded...)
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

// printNotRestored reports what could not be done, and returns an error if there is any.
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

// socketName returns a name that tells sockets of different nodes apart if their paths are the same.
func socketName(r node.Restored) string {
	if r.Root == "" {
		return r.Socket
	}
	return r.Socket + " below " + r.Root
}
