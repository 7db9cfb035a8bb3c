package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/labstate"
)

// kubeletConfig returns a configuration that differs from a kubelet's defaults where a lab on a person's machine
// must.
func (l *Lab) kubeletConfig(n labNode) map[string]any {
	config := map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",

		"containerRuntimeEndpoint": "unix://" + l.criOf(n),
		"staticPodPath":            n.paths.manifests(),
		"podLogsDir":               n.paths.podLogs(),
		"volumePluginDir":          n.paths.node("volume-plugins"),

		"failCgroupV1": false,
		"failSwapOn":   false,
		"cgroupDriver": "cgroupfs",
		"cgroupRoot":   l.names.cgroup,

		// The API server connects to the kubelet at the node's address, for logs and exec.
		"address":           l.node.String(),
		"port":              l.state.Ports[n.part("kubelet")],
		"healthzPort":       0,
		"tlsCertFile":       l.paths.pki(n.part("kubelet-server") + ".crt"),
		"tlsPrivateKeyFile": l.paths.pki(n.part("kubelet-server") + ".key"),
		"authentication": map[string]any{
			"anonymous": map[string]any{"enabled": false},
			"webhook":   map[string]any{"enabled": true},
			"x509":      map[string]any{"clientCAFile": l.paths.pki("ca.crt")},
		},
		"authorization": map[string]any{"mode": "Webhook"},

		// There is no DNS in a lab; the address is the usual one, and unreachable.
		"clusterDomain": "cluster.local",
		"clusterDNS":    []string{"10.96.0.10"},
		"resolvConf":    n.paths.config("resolv.conf"),

		"makeIPTablesUtilChains": false,

		// A full disk of the machine must not stop the lab, and images that were collected could not be pulled again.
		"imageGCHighThresholdPercent": 100,
		"evictionHard": map[string]string{
			"memory.available":  "0%",
			"nodefs.available":  "0%",
			"nodefs.inodesFree": "0%",
			"imagefs.available": "0%",
		},
	}
	if l.options.MaxPods != 0 {
		config["maxPods"] = l.options.MaxPods
	}
	return config
}

// criOf returns the socket of the node's runtime.
func (l *Lab) criOf(n labNode) string {
	if l.options.Runtime == labstate.Sim {
		return n.paths.simSocket()
	}
	return l.state.CRI
}

// configureKubelet writes a kubelet's configuration, and its kubeconfig for the API server at a port.
func (l *Lab) configureKubelet(n labNode, differs map[string]any, port int) error {
	config, err := yaml.Marshal(differs)
	if err != nil {
		return fmt.Errorf("configure kubelet: %w", err)
	}
	if err := os.WriteFile(n.paths.config("kubelet.yaml"), config, 0o644); err != nil {
		return fmt.Errorf("configure kubelet: %w", err)
	}
	if err := os.WriteFile(n.paths.config("resolv.conf"), []byte("nameserver 10.96.0.10\n"), 0o644); err != nil {
		return fmt.Errorf("configure kubelet: %w", err)
	}
	return writeKubeconfig(l.paths, n.paths.config("kubelet.kubeconfig"), n.part("kubelet"), port)
}

func (l *realNode) startKubelet(context.Context) error {
	node := l.nodes[0]
	if err := l.configureKubelet(node, l.kubeletConfig(node), l.state.Ports["kube-apiserver"]); err != nil {
		return err
	}
	// Kubelets before v1.27 do not read the endpoint from their configuration.
	args := append(l.kubeletArgs(node), "--container-runtime-endpoint=unix://"+l.criOf(node), "-v="+strconv.Itoa(l.options.KubeletV))
	return l.program("kubelet", []string{"PODSTEP_SOCKET=" + l.paths.agent()}, l.kubelet, args...)
}

// kubeletArgs returns the arguments of the kubelets on both kinds of nodes.
func (l *Lab) kubeletArgs(n labNode) []string {
	return []string{
		"--config=" + n.paths.config("kubelet.yaml"),
		"--kubeconfig=" + n.paths.config("kubelet.kubeconfig"),
		"--root-dir=" + n.paths.kubelet(),
		"--cert-dir=" + filepath.Join(n.paths.kubelet(), "pki"),
		"--hostname-override=" + n.name,
		"--node-ip=" + l.node.String(),
	}
}
