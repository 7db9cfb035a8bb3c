package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/probes/kubelets"
)

// WaysIn are the commands here that lead to an agent.
const WaysIn = "podstep attach looks into a kubelet that runs here, podstep lab starts a node of your own"

// Attach attaches to a kubelet, and ends that after while. The context that while
// gets is over when podstep is to end.
func Attach(ctx context.Context, o AttachOptions, while func(context.Context) error) error {
	kinds, err := chooseProbes(o.Probes)
	if err != nil {
		return err
	}
	k, err := chooseKubelet(ctx, o.PID, o.Print)
	if err != nil {
		return err
	}
	ctx, hurry, stop := endings(ctx)
	defer stop()
	stayAlive()
	if hint := withoutSocket(&k, kinds); hint != "" {
		o.Print(hint)
	}
	s, err := attach.Start(ctx, attach.Options{
		Kubelet: k, Probes: kinds, Socket: o.Socket, Kubeconfig: o.Kubeconfig, ReadOnly: o.ReadOnly, Print: o.Print,
	})
	if err != nil {
		return fmt.Errorf("attach to the kubelet with pid %d: %w", k.PID, err)
	}
	return errors.Join(while(ctx), s.Stop(hurry))
}

// withoutSocket says why the calls of a kubelet cannot be seen whose endpoint is no
// socket with a path, and what can; "" if they can, or nobody wants to.
func withoutSocket(k *kubelets.Kubelet, kinds []attach.Kind) string {
	cri, others := false, []string{}
	for _, kind := range registered {
		switch {
		case kind.Name != attach.CRI.Name:
			others = append(others, kind.Name)
		case slices.ContainsFunc(kinds, func(chosen attach.Kind) bool { return chosen.Name == kind.Name }):
			cri = true
		}
	}
	if !cri || k.NoEndpoint == "" {
		return ""
	}
	return fmt.Sprintf("the cri probe cannot see this kubelet's calls: %s; --probe %s shows what is reported of its pods", k.NoEndpoint, strings.Join(others, ","))
}

// chooseKubelet finds the kubelet that is meant.
func chooseKubelet(ctx context.Context, pid int, print func(string)) (k kubelets.Kubelet, err error) {
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
			print(line)
		}
		return k, usagef("%d kubelets run on this machine; choose one with --pid", len(all))
	}
	return k, err
}
