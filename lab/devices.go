package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/lab/dradriver"
)

// cdi returns the directory in which the driver describes devices to the runtime.
func (h simHost) cdi() string { return h.labNode.paths.node("cdi") }

// startDriver starts the DRA driver of the node.
func (h simHost) startDriver(context.Context) error {
	own := h.labNode.paths
	return h.spawn(h.part("dra-driver"), nil, "dra-driver", "--",
		"--node="+h.name, "--devices="+strconv.Itoa(h.options.Devices), "--kubeconfig="+h.Lab.paths.kubeconfig(),
		"--kubelet-dir="+own.kubelet(), "--cdi-dir="+h.cdi())
}

// waitDevices returns when the scheduler can give away the node's devices.
func (h simHost) waitDevices(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error {
		slices, err := h.client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{
			FieldSelector: "spec.nodeName=" + h.name + ",spec.driver=" + dradriver.Name,
		})
		if err != nil {
			return fmt.Errorf("list devices: %w", err)
		}
		if len(slices.Items) == 0 {
			return errors.New("the DRA driver has published no devices")
		}
		return nil
	})
}
