package lab

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/podstep/podstep/agent/host"
	"github.com/podstep/podstep/probes"
)

// simNode is a node without root: the kubelet's own code, on a simulated machine and container runtime. All its parts
// are in this binary, and it makes nothing outside of the lab's directory.
type simNode struct {
	*Lab
	scenario string // absolute, or empty
	called   Called // by the kubelet
}

// simAddress is an address that every machine has and that no other machine can reach.
var simAddress = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func (n *simNode) require() error {
	c, err := probes.Load()
	if err != nil {
		return err
	}
	if _, err := host.Woven(c); err != nil {
		return fmt.Errorf("start a sim lab: %w", err)
	}
	if n.options.Scenario == "" {
		return nil
	}
	if n.scenario, err = filepath.Abs(n.options.Scenario); err != nil {
		return fmt.Errorf("find scenario: %w", err)
	}
	if _, err := os.Stat(n.scenario); err != nil {
		return fmt.Errorf("find scenario: %w", err)
	}
	return nil
}

func (n *simNode) sweep() error { return sweepLeft(n.paths, n.names) }

func (n *simNode) prepare() (netip.Addr, error) {
	n.state.CRI = n.paths.simSocket()
	if err := os.MkdirAll(filepath.Dir(n.paths.simSocket()), 0o755); err != nil {
		return netip.Addr{}, fmt.Errorf("create directory: %w", err)
	}
	return simAddress, nil
}

func (n *simNode) enter() error { return nil }

func (n *simNode) add(p *plan) {
	p.add("simcri", inTurn(n.startRuntime, n.waitRuntime))
	p.add("kubelet", inTurn(n.placeBetween, n.startKubelet, n.waitNode), "simcri", "kube-apiserver")
}

func (n *simNode) startRuntime(context.Context) error {
	args := []string{"--socket=" + n.paths.simSocket(), "--root=" + filepath.Dir(n.paths.simSocket()), "--node-address=" + n.node.String()}
	if n.scenario != "" {
		args = append(args, "--scenario="+n.scenario)
	}
	return n.component("simcri", args...)
}

// waitRuntime returns when the runtime listens.
func (n *simNode) waitRuntime(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error { return dial(ctx, n.paths.simSocket()) })
}

// placeBetween finds out what the kubelet calls.
func (n *simNode) placeBetween(context.Context) error {
	n.called = Called{Runtime: n.paths.simSocket(), APIPort: n.state.Ports["kube-apiserver"], PKI: n.paths.pki("")}
	if n.options.Between == nil {
		return nil
	}
	var err error
	if n.called, err = n.options.Between(n.called); err != nil {
		return fmt.Errorf("stand between the kubelet and what it calls: %w", err)
	}
	return nil
}

// kubeletConfig returns the configuration of every lab, with changes for what a simulated machine lacks and for what
// a person wants to see.
func (n *simNode) kubeletConfig() map[string]any {
	config := n.Lab.kubeletConfig()
	config["cgroupRoot"] = "/"
	config["logging"] = map[string]any{"verbosity": n.options.KubeletV}
	// The simulated machine has enough of everything until a person takes something away. So these are the kubelet's
	// own thresholds, and it takes pressure to be over sooner than after its 5 minutes.
	config["evictionHard"] = map[string]string{
		"memory.available":  "100Mi",
		"nodefs.available":  "10%",
		"nodefs.inodesFree": "5%",
		"imagefs.available": "15%",
	}
	config["evictionPressureTransitionPeriod"] = "20s"
	config["containerRuntimeEndpoint"] = "unix://" + n.called.Runtime
	maps.Copy(config, n.options.KubeletConfig)
	return config
}

func (n *simNode) startKubelet(context.Context) error {
	if err := n.configureKubelet(n.kubeletConfig(), n.called.APIPort); err != nil {
		return err
	}
	args := slices.Concat([]string{"kubelet", "--"}, n.kubeletArgs(), []string{
		"--agent=" + n.paths.agent(),
		"--container-logs-dir=" + n.paths.at("logs", "containers"),
		"--cgroups-dir=" + n.paths.node("cgroup"),
		"--pressure-file=" + n.paths.pressure(),
	})
	// The kubelet runs umount to see what it prints about a path that is not mounted. If root runs umount, it makes
	// /run/mount if there is none. With this PATH the kubelet finds no umount.
	return n.spawn("kubelet", []string{"PATH="}, args...)
}
