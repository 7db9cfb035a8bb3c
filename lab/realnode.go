package lab

import (
	"context"
	"net/netip"

	"github.com/podstep/podstep/lab/cgroups"
)

// realNode is the machine itself, with its containerd and runc, or another containerd that an option names, and a
// kubelet.
type realNode struct {
	*Lab
	programs    programs
	kubelet     string
	snapshotter string
	subnet      netip.Prefix
}

func (n *realNode) require() error {
	own, err := n.options.containerd()
	if err != nil {
		return err
	}
	if n.programs, err = requirements(own); err != nil {
		return err
	}
	n.kubelet, err = n.options.kubelet()
	return err
}

func (n *realNode) sweep() error { return sweepMachine(n.names, n.programs.ip) }

func (n *realNode) prepare() (netip.Addr, error) {
	var none netip.Addr
	var err error
	if n.snapshotter, err = chooseSnapshotter(n.paths.dir); err != nil {
		return none, err
	}
	if n.subnet, err = chooseSubnet(n.names.hash); err != nil {
		return none, err
	}
	n.state.Containerd, n.state.CRI = n.paths.containerdSocket(), n.paths.containerdSocket()
	n.state.Cgroup, n.state.Bridge, n.state.Subnet = n.names.cgroup, n.names.bridge, n.subnet.String()
	if err := createBridge(n.programs.ip, n.names.bridge, n.subnet); err != nil {
		return none, err
	}
	return hostAddress(n.subnet), cgroups.Create(n.names.partsCgroup())
}

func (n *realNode) enter() error {
	if err := unshareMounts(); err != nil {
		return err
	}
	return furnish(n.paths)
}

func (n *realNode) add(p *plan) {
	p.add("containerd", inTurn(n.startRuntime, n.waitContainerd))
	p.add("images", inTurn(n.buildImages, n.importImages), "containerd")
	ready := func(ctx context.Context) error { return n.waitNode(ctx, n.nodes[0].name) }
	p.add("kubelet", inTurn(n.startKubelet, ready), "containerd", "kube-apiserver")
}

func (n *realNode) starts(part string) func(context.Context) error {
	switch part {
	case "kubelet":
		return n.startKubelet
	case "containerd":
		return n.startRuntime
	}
	return nil
}
