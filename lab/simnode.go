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
	between  Called // what the kubelet calls if something stands between
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
	for _, node := range n.nodes {
		if err := os.MkdirAll(filepath.Dir(node.paths.simSocket()), 0o755); err != nil {
			return netip.Addr{}, fmt.Errorf("create directory: %w", err)
		}
	}
	return simAddress, nil
}

func (n *simNode) enter() error { return nil }

func (n *simNode) add(p *plan) {
	for _, h := range n.hosts() {
		p.add(h.part("simcri"), inTurn(h.startRuntime, h.waitRuntime))
		ready := func(ctx context.Context) error { return n.waitNode(ctx, h.name) }
		p.add(h.part("kubelet"), inTurn(h.placeBetween, h.startKubelet, ready), h.part("simcri"), "kube-apiserver")
		if n.options.Devices > 0 {
			p.add(h.part(devicesPart), inTurn(h.startDevices, h.waitDevices), h.part("kubelet"))
		}
		if n.options.DevicePlugin > 0 {
			p.add(h.part(pluginPart), inTurn(h.startDevicePlugin, h.waitDevicePlugin), h.part("kubelet"))
		}
		if n.options.Storage {
			p.add(h.part(storagePart), inTurn(h.startStorage, h.waitStorage), h.part("kubelet"))
		}
	}
}

func (n *simNode) starts(part string) func(context.Context) error {
	for _, h := range n.hosts() {
		switch part {
		case h.part("kubelet"):
			return h.startKubelet
		case h.part("simcri"):
			return h.startRuntime
		}
	}
	return nil
}

// simHost is one of the nodes of a sim lab.
type simHost struct {
	*simNode
	labNode
}

func (n *simNode) hosts() (out []simHost) {
	for _, node := range n.nodes {
		out = append(out, simHost{n, node})
	}
	return out
}

func (h simHost) startRuntime(context.Context) error {
	socket := h.labNode.paths.simSocket()
	args := []string{"--socket=" + socket, "--root=" + filepath.Dir(socket), "--node-address=" + h.node.String(), "--cdi-dir=" + h.cdi()}
	if h.scenario != "" {
		args = append(args, "--scenario="+h.scenario)
	}
	return h.spawn(h.part("simcri"), nil, slices.Concat([]string{"simcri", "--"}, args)...)
}

// waitRuntime returns when the runtime listens.
func (h simHost) waitRuntime(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error { return dial(ctx, h.labNode.paths.simSocket()) })
}

// placeBetween puts what the lab's options want between the kubelet and what it calls.
func (h simHost) placeBetween(context.Context) error {
	if h.options.Between == nil {
		return nil
	}
	var err error
	if h.between, err = h.options.Between(h.parts()); err != nil {
		return fmt.Errorf("stand between the kubelet and what it calls: %w", err)
	}
	return nil
}

// parts returns what the node's kubelet calls if nothing stands between.
func (h simHost) parts() Called {
	c := Called{Runtime: h.labNode.paths.simSocket(), APIPort: h.state.Ports["kube-apiserver"], PKI: h.Lab.paths.pki("")}
	if h.options.Devices > 0 {
		c.Devices = h.plugin("dra")
	}
	if h.options.DevicePlugin > 0 {
		c.Plugin = h.plugin("dev")
	}
	if h.options.Storage {
		c.Storage = h.plugin("csi")
	}
	return c
}

// called returns what the node's kubelet calls.
func (h simHost) called() Called {
	if h.options.Between != nil {
		return h.between
	}
	return h.parts()
}

// kubeletConfig returns the configuration of every lab, with changes for what a simulated machine lacks and for what
// a person wants to see.
func (h simHost) kubeletConfig() map[string]any {
	config := h.Lab.kubeletConfig(h.labNode)
	config["cgroupRoot"] = "/"
	config["logging"] = map[string]any{"verbosity": h.options.KubeletV}
	// The simulated machine has enough of everything until a person takes something away. So these are the kubelet's
	// own thresholds, and it takes pressure to be over sooner than after its 5 minutes.
	config["evictionHard"] = map[string]string{
		"memory.available":  "100Mi",
		"nodefs.available":  "10%",
		"nodefs.inodesFree": "5%",
		"imagefs.available": "15%",
	}
	config["evictionPressureTransitionPeriod"] = "20s"
	config["containerRuntimeEndpoint"] = "unix://" + h.called().Runtime
	maps.Copy(config, h.options.KubeletConfig)
	return config
}

func (h simHost) startKubelet(context.Context) error {
	if err := h.configureKubelet(h.labNode, h.kubeletConfig(), h.called().APIPort); err != nil {
		return err
	}
	own := h.labNode.paths
	credentials, err := h.placeCredentials()
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"kubelet", "--"}, h.kubeletArgs(h.labNode), credentials, []string{
		"--agent=" + own.agent(),
		"--container-logs-dir=" + own.containerLogs(),
		"--cgroups-dir=" + own.node("cgroup"),
		"--pressure-file=" + own.pressure(),
		"--offer-files=" + h.called().Files,
	})
	// The kubelet runs umount to see what it prints about a path that is not mounted. If root runs umount, it makes
	// /run/mount if there is none. With this PATH the kubelet finds no umount.
	return h.spawn(h.part("kubelet"), []string{"PATH="}, args...)
}
