package dradriver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// Options say which devices there are, and where.
type Options struct {
	Node       string // name of the node
	Devices    int    // how many devices the node has
	Kubeconfig string // file by which the API server is reached
	Kubelet    string // the kubelet's root directory
	CDI        string // directory for CDI specs
	Socket     string // the driver's socket
	Called     string // socket that the kubelet is to call; other than Socket if something stands between
}

// registeredEvery is how often the driver checks whether the kubelet has registered it.
const registeredEvery = 50 * time.Millisecond

// Run serves the kubelet until ctx ends. It publishes the devices when the kubelet has registered it: what is published
// before may be allocated before it can be prepared.
func Run(ctx context.Context, o Options) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	registry := filepath.Join(o.Kubelet, "plugins_registry")
	for _, dir := range []string{registry, filepath.Dir(o.Socket), o.CDI} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	helper, err := kubeletplugin.Start(ctx, &driver{node: o.Node, specs: specs(o.CDI), fail: fail},
		kubeletplugin.DriverName(Name), kubeletplugin.NodeName(o.Node), kubeletplugin.KubeClient(client),
		kubeletplugin.RegistrarDirectoryPath(registry), kubeletplugin.RegistrarSocketFilename("dra.sock"),
		kubeletplugin.PluginDataDirectoryPath(filepath.Dir(o.Called)), kubeletplugin.PluginSocket(filepath.Base(o.Called)),
		kubeletplugin.PluginListener(o.listen))
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

// listen opens the driver's socket, whatever socket the kubelet is to call.
func (o *Options) listen(ctx context.Context, _ string) (net.Listener, error) {
	if err := os.Remove(o.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove earlier socket: %w", err)
	}
	return new(net.ListenConfig).Listen(ctx, "unix", o.Socket)
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
