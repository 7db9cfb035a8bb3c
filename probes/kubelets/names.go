package kubelets

import (
	"regexp"
	"slices"
	"strings"
)

// named matches names that a kubelet's program may have been given, like
// kubelet-v1.31.4. Other programs have such names too: their build information
// decides.
var named = regexp.MustCompile(`(^|[-_.])kubelet($|[-_.])`)

// hasKubelet reports whether the process is a kubelet, or has one inside.
func (p *process) hasKubelet() bool {
	switch p.name() {
	case "kubelet", "podstep-kubelet", "kubelite":
		return true
	case "hyperkube":
		return p.called() == "kubelet" || p.command() == "kubelet"
	}
	if p.isK3s() {
		return true
	}
	return named.MatchString(p.name()) && p.containsKubelet()
}

// command is the first argument that is no flag.
func (p *process) command() string {
	for _, a := range p.args[min(1, len(p.args)):] {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// isK3s reports whether the process is k3s with a node inside. k3s is one program that is also kubectl, crictl and
// more; the kernel calls it k3s-server or k3s-agent. rke2 is another matter: its kubelet is a process of its own.
func (p *process) isK3s() bool {
	switch p.name() {
	case "k3s", "k3s-server", "k3s-agent":
		return slices.Contains([]string{"server", "agent"}, p.command())
	}
	return false
}

// withoutShadows leaves out processes that only look like kubelets: a child of
// a kubelet between fork and exec, which has one thread, and the k3s that only
// watches over another.
func withoutShadows(all []*process) []*process {
	parents := map[int]*process{}
	for _, p := range all {
		parents[p.pid] = p
	}
	watches := map[int]bool{}
	forked := func(p *process) bool {
		parent := parents[p.parent]
		return parent != nil && parent.exe == p.exe && slices.Equal(parent.args, p.args)
	}
	for _, p := range all {
		if forked(p) && p.threads > 1 && p.isK3s() {
			watches[p.parent] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *process) bool {
		return watches[p.pid] || forked(p) && p.threads <= 1
	})
}

// kind returns what a kubelet with a process of its own is a part of, by where its files are.
func kind(k *Kubelet) string {
	if strings.HasPrefix(k.Flags["provider-id"], "kind://") || exists(k.Root, "/kind/version") {
		return KindKind
	}
	for _, sign := range []struct{ part, kind string }{
		{"/rancher/rke2/", KindRKE2},
		{"/rancher/k3s/", KindK3s},
		{"/var/lib/minikube/", KindMinikube},
		{"/snap/microk8s/", KindMicroK8s},
		{"/k0s/", KindK0s},
	} {
		for _, path := range []string{k.Program, k.Kubeconfig, k.ConfigDir} {
			if strings.Contains(path, sign.part) {
				return sign.kind
			}
		}
	}
	return KindPlain
}
