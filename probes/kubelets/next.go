package kubelets

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

// Next finds the kubelet that was started in place of one that has ended: with the same runtime and the same
// directory, for the same node. It may be of another version. It returns ErrNone while there is none.
func Next(ctx context.Context, old *Kubelet, o Options) (Kubelet, error) {
	entries, err := os.ReadDir(o.proc())
	if err != nil {
		return Kubelet{}, fmt.Errorf("list processes: %w", err)
	}
	var candidates []*process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		p, err := readProcess(o.proc(), pid)
		if err != nil || p.started < old.Started || pid == old.PID && p.started == old.Started {
			continue
		}
		// A kubelet that was named by its pid may have any name. The next one has the same.
		if p.hasKubelet() || p.hasProgram(old.Program) {
			candidates = append(candidates, p)
		}
	}
	all, err := describeAll(ctx, withoutShadows(candidates))
	if err != nil {
		return Kubelet{}, err
	}
	next, found := Kubelet{}, false
	for _, k := range all {
		if k.replaces(old) && (!found || k.Started > next.Started) {
			next, found = k, true
		}
	}
	if !found {
		return next, ErrNone
	}
	return next, nil
}

// replaces reports whether a kubelet does the work of another one.
func (k *Kubelet) replaces(old *Kubelet) bool {
	node := k.Node == old.Node || k.Node == "" || old.Node == ""
	socket := k.RuntimeEndpoint == old.RuntimeEndpoint || k.RuntimeEndpoint != "" && old.RuntimeEndpoint != "" && k.SameSocket(k.RuntimeEndpoint, old.RuntimeEndpoint)
	return node && socket && k.RootDir == old.RootDir
}
