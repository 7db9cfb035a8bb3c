package explore

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/lab/credentials"
	"github.com/podstep/podstep/lab/faults"
)

// credentialPlugin is a program that the kubelet runs for each image of a registry.
var credentialPlugin = plugins{
	about: func(c faults.Call) bool { return c.Side == faults.Exec },
	make:  func(context.Context, *Node, string) error { return nil },
	drop:  func(context.Context, *Node, string) error { return nil },
}

// wantsCredentials gives a pod images of a registry that wants credentials.
func wantsCredentials(p *corev1.Pod) {
	p.Annotations["sim.podstep.dev/pull-auth"] = credentials.Wanted
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range all {
			all[i].Image = faults.PrivateImage(all[i].Image)
		}
	}
}
