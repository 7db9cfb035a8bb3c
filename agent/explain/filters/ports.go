package filters

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ports is NodePorts.
func ports(h *held, n *corev1.Node) *Refusal {
	wanted := HostPorts(h.pod)
	for i := range wanted {
		var there []int
		for _, j := range h.onNode[n.Name] {
			for _, p := range HostPorts(&h.in.Pods[j]) {
				if conflict(&wanted[i], &p) {
					there = append(there, j)
					break
				}
			}
		}
		if len(there) > 0 {
			return &Refusal{Filter: Ports, Port: &wanted[i], Pods: there}
		}
	}
	return nil
}

// Conflicts returns the host ports of a pod that another one has, too.
func Conflicts(p, other *corev1.Pod) (out []int32) {
	theirs := HostPorts(other)
	for _, mine := range HostPorts(p) {
		if slices.ContainsFunc(theirs, func(o corev1.ContainerPort) bool { return conflict(&mine, &o) }) {
			out = append(out, mine.HostPort)
		}
	}
	return out
}

// HostPorts returns the host ports of the containers of a pod that run all its life.
func HostPorts(p *corev1.Pod) (out []corev1.ContainerPort) {
	add := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				out = append(out, port)
			}
		}
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	for i := range p.Spec.Containers {
		add(&p.Spec.Containers[i])
	}
	return out
}

// allAddresses is the host IP of a port that has none.
const allAddresses = "0.0.0.0"

func conflict(a, b *corev1.ContainerPort) bool {
	x, y := cmp.Or(a.HostIP, allAddresses), cmp.Or(b.HostIP, allAddresses)
	return a.HostPort == b.HostPort && cmp.Or(a.Protocol, corev1.ProtocolTCP) == cmp.Or(b.Protocol, corev1.ProtocolTCP) &&
		(x == y || x == allAddresses || y == allAddresses)
}
