package node

import (
	"context"
	"errors"

	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// TakeoversDir is where the records of takeovers are.
const TakeoversDir = takeover.DefaultDir

// Restore cleans up after podsteps that were attached and have died: whatever dir
// knows of, and what is found at the sockets.
func Restore(dir string, sockets []string) ([]Restored, error) {
	found, err := takeover.Restore(dir, sockets...)
	if err != nil {
		return nil, err
	}
	out := []Restored{}
	for _, r := range found {
		out = append(out, Restored(r))
	}
	return out, nil
}

// LetGo lets goroutines go on that are held inside of this machine's kubelets, if nobody is
// there any more who would renew their holds.
func LetGo(ctx context.Context) (out []LetGone, err error) {
	all, err := kubelets.Find(ctx, kubelets.Options{})
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, k := range all {
		n, err := park.LetGoOrphans(k.PID)
		errs = append(errs, err)
		if n > 0 {
			out = append(out, LetGone{k.PID, n})
		}
	}
	return out, errors.Join(errs...)
}

// Guard is the life of the process that outlives podstep attach. It prints what
// goes wrong itself, so its error has no words.
func Guard() error {
	if takeover.Guard() != 0 {
		return errors.New("")
	}
	return nil
}

// Relay is the life of the process that stands in the path while podstep is attached.
func Relay() error {
	if relayproc.Main() != 0 {
		return errors.New("")
	}
	return nil
}

// Debugger is the life of the process that has Delve in it.
func Debugger() error {
	if delve.Main() != 0 {
		return errors.New("")
	}
	return nil
}

// Holder is the life of the process that holds goroutines of the kubelet.
func Holder() error {
	if holdproc.Main() != 0 {
		return errors.New("")
	}
	return nil
}
