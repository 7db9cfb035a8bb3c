package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/podstep/podstep/agent/attach/verbosity"
	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/delve/rescue"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

// TakeoversDir is where the records of takeovers are.
const TakeoversDir = takeover.DefaultDir

// Restore cleans up after attached podsteps that have died: after those that dir has records
// of, and those whose traces it finds at the sockets.
func Restore(dir string, sockets []string) ([]Restored, error) {
	found, err := takeover.Restore(dir, sockets...)
	if err != nil {
		return nil, err
	}
	out := []Restored{}
	for _, r := range found {
		out = append(out, Restored{Socket: r.Socket, Root: r.Root, PID: r.PID, Living: r.Living, Done: r.Done, Error: r.Error})
	}
	return out, nil
}

// LetGo lets goroutines go on that are held inside this machine's kubelets, if nobody renews
// their holds any more. It also takes away what a debugger process that has died left in them.
func LetGo(ctx context.Context) (out []Restored, err error) {
	all, err := kubelets.Find(ctx, kubelets.Options{})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, k := range all {
		n, err := park.LetGoOrphans(k.PID)
		net, left := rescue.TakeAway(k.PID, k.Started)
		errs = append(errs, err, left)
		var done []string
		if n > 0 {
			done = append(done, fmt.Sprintf("let go goroutines that were held: %d", n))
		}
		if net {
			done = append(done, "took back the breakpoints of a debugger process that has died")
		}
		if done != nil {
			out = append(out, Restored{Kubelet: k.PID, Done: done})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return out, fmt.Errorf("let goroutines go on: %w", err)
	}
	return out, nil
}

// Guard runs the process that outlives podstep attach. It prints its failures itself, so its
// error has no words.
func Guard() error {
	if takeover.Guard() != 0 {
		return errors.New("")
	}
	return nil
}

// Relay runs the process that stands in the path while podstep is attached.
func Relay() error {
	if relayproc.Main() != 0 {
		return errors.New("")
	}
	return nil
}

// VerbosityGuard runs the process that puts a kubelet's -v back.
func VerbosityGuard() error {
	if verbosity.Main() != 0 {
		return errors.New("")
	}
	return nil
}

// Lower puts back what podsteps that have died, and their guards, have left raised of the kubelets' -v.
func Lower(ctx context.Context, dir string) (out []Restored, err error) {
	all, err := verbosity.Restore(ctx, dir)
	for _, r := range all {
		x := Restored{Kubelet: r.PID, Done: []string{}}
		if r.Err != nil {
			x.Error = fmt.Sprintf("put -v=%d back: %v", r.Old, r.Err)
		} else {
			x.Done = append(x.Done, fmt.Sprintf("put -v=%d back", r.Old))
		}
		out = append(out, x)
	}
	return out, err
}

// Debugger runs the process that has Delve in it.
func Debugger() error {
	if delve.Main() != 0 {
		return errors.New("")
	}
	return nil
}

// Rescuer runs the process that keeps a kubelet alive when the debugger process dies.
func Rescuer() error {
	if rescue.Main() != 0 {
		return errors.New("")
	}
	return nil
}

// Holder runs the process that holds goroutines of the kubelet.
func Holder() error {
	if holdproc.Main() != 0 {
		return errors.New("")
	}
	return nil
}
