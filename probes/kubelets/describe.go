package kubelets

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
)

// What a kubelet does by default.
const (
	defaultRuntime  = "unix:///run/containerd/containerd.sock"
	defaultRootDir  = "/var/lib/kubelet"
	defaultPort     = 10250
	defaultReadOnly = 10255 // without a configuration file only
)

// describe returns all that can be known of a process that is a kubelet.
func describe(p *process) *Kubelet {
	k := &Kubelet{PID: p.pid, Started: p.started, Program: p.exe, Root: p.root()}
	k.readBuild(p)
	flags := k.readFlags(p)
	k.Flags = flags.flat()
	k.Kubeconfig, k.Config, k.ConfigDir = p.abs(flags.last("kubeconfig")), p.abs(flags.last("config")), p.abs(flags.last("config-dir"))
	if k.Kind == "" {
		k.Kind = kind(k)
	}
	config := k.readConfig()
	k.serve(flags, config)
	k.endpoints(flags, config)
	k.RootDir = p.abs(first(flags.last("root-dir"), defaultRootDir))
	k.CgroupRoot = first(flags.last("cgroup-root"), or(config.CgroupRoot, ""))
	k.StaticPods = first(flags.last("pod-manifest-path"), or(config.StaticPodPath, ""))
	k.Cgroup = p.cgroup()
	k.Node = k.nodeName(p)
	k.OwnNetwork = p.elsewhere("net")
	k.connections(p)
	if k.Kubeconfig != "" && !exists(k.Root, k.Kubeconfig) {
		k.problem("its kubeconfig %s is not there", k.Kubeconfig)
	}
	if !p.open() {
		k.unseen(flags)
	}
	return k
}

// unseen keeps only what the command line says, for a kubelet that we may not look into. It gives one reason for
// all that went wrong, and no guesses.
func (k *Kubelet) unseen(flags flagSet) {
	k.Problems = []string{"its program, files and connections may be seen by root alone"}
	if k.Config == "" && k.ConfigDir == "" {
		return // nothing but flags and defaults
	}
	if flags.last("container-runtime-endpoint") == "" {
		k.RuntimeEndpoint, k.NoEndpoint = "", ""
	}
	if flags.last("image-service-endpoint") == "" {
		k.ImageEndpoint = k.RuntimeEndpoint
	}
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// open reports whether we may look at the process's files.
func (p *process) open() bool {
	_, err := os.Stat(p.root() + "/.")
	return !errors.Is(err, fs.ErrPermission)
}

// readBuild reads what the program says of itself.
func (k *Kubelet) readBuild(p *process) {
	f, size, err := p.program()
	if err != nil {
		if !errors.Is(err, fs.ErrPermission) { // unseen reports that of all we may not see
			k.Doubt = "its program cannot be read: " + err.Error()
		}
		return
	}
	defer f.Close()
	b, err := probes.ReadBuild(f, size)
	switch {
	case err != nil:
		k.Doubt = "its program cannot be a kubelet: " + err.Error()
		return
	case !b.Kubernetes:
		k.Doubt = "its program does not say that Kubernetes is in it"
		return
	}
	k.Woven = b.Woven
	if k.Version, err = probes.ReadVersion(f, size); err != nil {
		k.problem("its version is not known: %v", err)
	} else if k.Version == "" {
		k.problem("its program does not tell its version")
	}
}

// readFlags returns the flags of the kubelet, wherever they are from.
func (k *Kubelet) readFlags(p *process) flagSet {
	args := p.args[min(1, len(p.args)):]
	switch {
	case p.isK3s():
		k.Kind = KindK3s
		return k.k3sFlags(p, parseFlags(args))
	case p.name() == "kubelite":
		k.Kind = KindMicroK8s
		return k.microK8sFlags(parseFlags(args))
	}
	return parseFlags(args)
}

// serve sets where the kubelet serves. Flags win over files.
func (k *Kubelet) serve(flags flagSet, config *settings) {
	readOnly := defaultReadOnly
	if k.Config != "" {
		readOnly = 0
	}
	if config.ReadOnlyPort != nil {
		readOnly = *config.ReadOnlyPort
	}
	k.Address = first(flags.last("address"), or(config.Address, "0.0.0.0"))
	k.Port = k.port(flags, "port", or(config.Port, defaultPort))
	k.ReadOnlyPort = k.port(flags, "read-only-port", readOnly)
}

func (k *Kubelet) port(flags flagSet, name string, otherwise int) int {
	port := otherwise
	if text := flags.last(name); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			n = -1
		}
		port = n
	}
	if port < 0 || port > 65535 {
		k.problem("its --%s is no port", name)
		return 0
	}
	return port
}

// cgroup returns the cgroup of the process: in the unified hierarchy, or else in that of the memory controller.
func (p *process) cgroup() string {
	text, err := readBounded(p.dir+"/cgroup", 64<<10)
	if err != nil {
		return ""
	}
	found := ""
	for _, line := range strings.Split(string(text), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) < 3 {
			continue
		}
		if parts[1] == "memory" {
			return parts[2]
		}
		if parts[1] == "" || found == "" {
			found = parts[2]
		}
	}
	return found
}

// elsewhere reports whether the process is in another namespace than we are, as
// far as we may see.
func (p *process) elsewhere(namespace string) bool {
	its := p.link("ns/" + namespace)
	ours, err := os.Readlink("/proc/thread-self/ns/" + namespace)
	return err == nil && its != "" && its != ours
}
