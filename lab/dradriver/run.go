package dradriver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	"github.com/podstep/podstep/lab/plugin"
)

// Options say which devices there are, and where.
type Options struct {
	plugin.Place
	Devices int    // how many devices the node has
	CDI     string // directory for CDI specs
}

// registeredEvery is how often the driver checks whether the kubelet has registered it.
const registeredEvery = 50 * time.Millisecond

// Run serves the kubelet until ctx ends. It publishes the devices when the kubelet has registered it: what is published
// before may be allocated before it can be prepared.
func Run(ctx context.Context, o Options) error {
	client, err := o.Client()
	if err != nil {
		return err
	}
	if err := o.MakeDirs(o.CDI); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	helper, err := kubeletplugin.Start(ctx, &driver{node: o.Node, specs: specs(o.CDI), fail: fail},
		kubeletplugin.DriverName(Name), kubeletplugin.NodeName(o.Node), kubeletplugin.KubeClient(client),
		kubeletplugin.RegistrarDirectoryPath(o.Registry()), kubeletplugin.RegistrarSocketFilename("dra.sock"),
		kubeletplugin.PluginDataDirectoryPath(filepath.Dir(o.Called)), kubeletplugin.PluginSocket(filepath.Base(o.Called)),
		kubeletplugin.PluginListener(func(ctx context.Context, _ string) (net.Listener, error) { return plugin.Listen(ctx, o.Socket) }))
	if err != nil {
		return fmt.Errorf("start plugin: %w", err)
	}
	defer helper.Stop()
	if err := createClass(ctx, client); err != nil {
		return err
	}
	if err := untilRegistered(ctx, helper); err != nil {
		return err
	}
	if err := helper.PublishResources(ctx, o.resources()); err != nil {
		return fmt.Errorf("publish devices: %w", err)
	}
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// createClass creates the class by which claims ask for the driver's devices.
func createClass(ctx context.Context, client kubernetes.Interface) error {
	class := &resourceapi.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: Name},
		Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{
			{CEL: &resourceapi.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", Name)}},
		}},
	}
	_, err := client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create DeviceClass: %w", err)
	}
	return nil
}

// untilRegistered waits until the kubelet has registered the driver.
func untilRegistered(ctx context.Context, helper *kubeletplugin.Helper) error {
	tick := time.NewTicker(registeredEvery)
	defer tick.Stop()
	for {
		if s := helper.RegistrationStatus(); s != nil {
			if s.PluginRegistered {
				return nil
			}
			return fmt.Errorf("register with the kubelet: %s", s.Error)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("register with the kubelet: %w", context.Cause(ctx))
		}
	}
}

// resources describes the node's devices: one pool, with the name of the node.
func (o *Options) resources() resourceslice.DriverResources {
	var devices []resourceapi.Device
	for n := range o.Devices {
		devices = append(devices, resourceapi.Device{Name: fmt.Sprintf("device-%d", n)})
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{o.Node: {Slices: []resourceslice.Slice{{Devices: devices}}}}}
}
