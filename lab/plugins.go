package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/lab/credentials"
	"github.com/podstep/podstep/lab/csidriver"
	"github.com/podstep/podstep/lab/deviceplugin"
	"github.com/podstep/podstep/lab/dradriver"
)

// The kubelet's plugins, among the parts of a node.
const (
	devicesPart = "dra-driver"
	storagePart = "csi-driver"
	pluginPart  = "device-plugin"
)

// plugin returns the socket of a plugin. Its name is short, because that of a lab's directory may be long.
func (h simHost) plugin(name string) string {
	return filepath.Join(h.labNode.paths.kubelet(), "plugins", name, name+".sock")
}

// cdi returns the directory in which the DRA driver describes devices to the runtime.
func (h simHost) cdi() string { return h.labNode.paths.node("cdi") }

// placeCredentials gives the kubelet a credential plugin, if there is to be one, and returns the kubelet's flags for it.
func (h simHost) placeCredentials() ([]string, error) {
	socket := h.called().Credentials
	if socket == "" {
		return nil, nil
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return credentials.Place(h.labNode.paths.config("credentials"), program, "component", "credential-plugin", "--", "--socket="+socket)
}

// startDevices starts the DRA driver of the node.
func (h simHost) startDevices(context.Context) error {
	return h.startPlugin(devicesPart, h.parts().Devices, h.called().Devices, "--devices="+strconv.Itoa(h.options.Devices), "--cdi-dir="+h.cdi())
}

// startStorage starts the CSI driver of the node.
func (h simHost) startStorage(context.Context) error {
	return h.startPlugin(storagePart, h.parts().Storage, h.called().Storage, "--dir="+h.labNode.paths.node("storage"))
}

// startDevicePlugin starts the device plugin of the node.
func (h simHost) startDevicePlugin(context.Context) error {
	return h.startPlugin(pluginPart, h.parts().Plugin, h.called().Plugin, "--devices="+strconv.Itoa(h.options.DevicePlugin))
}

func (h simHost) startPlugin(part, socket, called string, args ...string) error {
	return h.spawn(h.part(part), nil, slices.Concat([]string{part, "--"}, args, []string{
		"--node=" + h.name, "--kubeconfig=" + h.Lab.paths.kubeconfig(), "--kubelet-dir=" + h.labNode.paths.kubelet(), "--socket=" + socket, "--called=" + called,
	})...)
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

// waitDevicePlugin returns when the node offers the plugin's devices.
func (h simHost) waitDevicePlugin(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error {
		node, err := h.client.CoreV1().Nodes().Get(ctx, h.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read the node's devices: %w", err)
		}
		if n := node.Status.Allocatable[deviceplugin.Resource]; n.IsZero() {
			return errors.New("the node offers no devices of the device plugin")
		}
		return nil
	})
}

// waitStorage returns when the kubelet has registered the CSI driver.
func (h simHost) waitStorage(ctx context.Context) error {
	return poll(ctx, func(ctx context.Context) error {
		node, err := h.client.StorageV1().CSINodes().Get(ctx, h.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("read the node's CSI drivers: %w", err)
		}
		if !slices.ContainsFunc(node.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == csidriver.Name }) {
			return errors.New("the kubelet has not registered the CSI driver")
		}
		return nil
	})
}
