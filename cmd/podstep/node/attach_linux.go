package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/agent/scrape"
	"github.com/podstep/podstep/probes/kubelets"
)

// WaysIn names the commands here that lead to an agent.
const WaysIn = "podstep attach looks into a kubelet that runs here, podstep lab starts a node of your own"

// Attach attaches to a kubelet, and detaches when while returns. The context of while is over
// when podstep is to end.
func Attach(ctx context.Context, o AttachOptions, while func(context.Context) error) error {
	kinds, leftOut, err := chooseProbes(withDelve(o.Probes, o.Delve), o.Passive)
	if err != nil {
		return err
	}
	if o.AllCalls {
		if kinds, err = withAllCalls(kinds); err != nil {
			return err
		}
	}
	address, err := metricsAddress(&o)
	if err != nil {
		return err
	}
	k, err := chooseKubelet(ctx, o.PID, o.Print)
	if err != nil {
		return err
	}
	if o.Node != "" {
		k.Node = o.Node
	}
	ctx, hurry, stop := endings(ctx)
	defer stop()
	stayAlive()
	if o.Passive {
		o.Print("passive: nothing of podstep stands in the path of the kubelet's calls. The cri probe does not see them, no pod can be held there, and no call made to fail")
	}
	if hint := withoutSocket(&k, kinds); hint != "" {
		o.Print(hint)
	}
	s, err := attach.Start(ctx, attach.Options{
		Kubelet: k, Probes: kinds, LeftOut: leftOut, Socket: o.Socket, Kubeconfig: o.Kubeconfig, ReadOnly: o.ReadOnly,
		AllowHolds: o.AllowHolds, Delve: o.Delve, RiskKubelet: o.RiskKubelet, Tier: o.Tier, Metrics: address,
		WithoutToken: o.WithoutToken, TokenNamespace: o.TokenNamespace,
		RaiseVerbosity: o.RaiseVerbosity, RaiseFor: o.RaiseFor, Record: o.Record, Keep: o.Keep, KeepFor: o.KeepFor,
		Print: o.Print,
	})
	if err != nil {
		return fmt.Errorf("attach to the kubelet with pid %d: %w", k.PID, err)
	}
	if address != "" {
		o.Print(fmt.Sprintf("metrics at http://%s/metrics", address))
	}
	// To systemd, a unit of Type=notify is started from here on.
	if _, err := daemon.SdNotify(true, daemon.SdNotifyReady); err != nil {
		o.Print(fmt.Sprintf("notify systemd: %v", err))
	}
	return errors.Join(while(ctx), s.Stop(hurry))
}

// metricsAddress returns where to serve metrics; "" if nobody wants any. It warns the person if
// others than this machine can read them.
func metricsAddress(o *AttachOptions) (string, error) {
	if o.Metrics == "" {
		return "", nil
	}
	address, open, err := scrape.Address(o.Metrics)
	if err != nil {
		return "", usagef("--metrics: %v", err)
	}
	if open {
		o.Print(fmt.Sprintf("--metrics %s: %s", o.Metrics, scrape.Open))
	}
	return address, nil
}

// withoutSocket returns why the calls of a kubelet cannot be seen whose endpoint is no socket
// with a path, and which probes can see that kubelet. It is "" if the calls can be seen, or if
// nobody wants to see them.
func withoutSocket(k *kubelets.Kubelet, kinds []attach.Kind) string {
	cri, others := false, []string{}
	for _, kind := range registered {
		switch {
		case kind.OnRequest:
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

// chooseKubelet finds the kubelet to attach to.
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
