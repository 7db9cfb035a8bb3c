package explore

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/lab/deviceplugin"
	"github.com/podstep/podstep/lab/faults"
)

// The calls to a device plugin. None names a pod: those of the first kind are about a container, those of the second come
// when the plugin registers. When a pod ends, none comes.
var (
	allocationCalls   = []string{"GetPreferredAllocation", "Allocate", "PreStartContainer"}
	registrationCalls = []string{"GetDevicePluginOptions", "ListAndWatch"}
	deviceCalls       = slices.Concat(allocationCalls, registrationCalls)
)

// devices are those of a device plugin that has registered.
var devices = plugins{
	about: func(c faults.Call) bool { return c.Side == faults.Plugin && slices.Contains(allocationCalls, c.Method) },
	make:  func(context.Context, *Node, string) error { return nil },
	drop:  func(context.Context, *Node, string) error { return nil },
}

// registration has the device plugin begin anew: before the pod is made, and when the trial is over, so that the node has
// its devices again.
var registration = plugins{
	about: func(c faults.Call) bool {
		return c.Side == faults.Plugin && slices.Contains(registrationCalls, c.Method)
	},
	make: registerAnew,
	drop: offerAgain,
}

// usesDevice gives a pod a device of the device plugin.
func usesDevice(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{deviceplugin.Resource: resource.MustParse("1")}
}

// registerAnew has the device plugin begin anew, and returns when the kubelet has made the first call to it.
func registerAnew(ctx context.Context, n *Node, namespace string) error {
	if err := n.Anew(); err != nil {
		return err
	}
	if err := until(ctx, beginWithin, func() bool { return len(n.Table.Seen(namespace)) > 0 }); err != nil {
		return fmt.Errorf("the device plugin does not register: %w", err)
	}
	return nil
}

// endSeen is how long the kubelet may take to see that a plugin has begun anew, and has not registered.
const endSeen = time.Second

// offerAgain has the device plugin begin anew, and returns when the node offers its devices.
func offerAgain(ctx context.Context, n *Node, _ string) error {
	if err := n.Anew(); err != nil {
		return err
	}
	_ = until(ctx, endSeen, func() bool { return false })
	err := until(ctx, endWithin, func() bool {
		nodes, err := n.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		return err == nil && !slices.ContainsFunc(nodes.Items, func(one corev1.Node) bool {
			q := one.Status.Allocatable[deviceplugin.Resource]
			return q.IsZero()
		})
	})
	if err != nil {
		return fmt.Errorf("the node does not offer devices again: %w", err)
	}
	return nil
}
