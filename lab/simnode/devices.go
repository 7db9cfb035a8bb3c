package simnode

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	pluginregistration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/cm/resourceupdates"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/pluginmanager/cache"
)

// newDynamicResources returns the kubelet's own manager of dynamic resources. It needs no root: drivers are found below
// the kubelet's directory. The kubelet makes its client later than its container manager, so this one gets its own.
func newDynamicResources(server *options.KubeletServer) (*dra.Manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", server.KubeConfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	m, err := dra.NewManager(klog.Background(), client, server.RootDirectory)
	if err != nil {
		return nil, fmt.Errorf("create DRA manager: %w", err)
	}
	return m, nil
}

func (c *containerManager) GetPluginRegistrationHandlers() map[string]cache.PluginHandler {
	return map[string]cache.PluginHandler{
		pluginregistration.DRAPlugin: c.dynamic.GetWatcherHandler(), pluginregistration.DevicePlugin: c.plugged.GetWatcherHandler(),
	}
}

func (c *containerManager) GetResources(ctx context.Context, pod *v1.Pod, ctr *v1.Container) (*container.RunContainerOptions, error) {
	info, err := c.dynamic.GetResources(pod, ctr)
	if err != nil {
		return nil, err
	}
	has := &container.RunContainerOptions{CDIDevices: info.CDIDevices}
	if err := c.pluggedResources(ctx, pod, ctr, has); err != nil {
		return nil, err
	}
	return has, nil
}

func (c *containerManager) PrepareDynamicResources(ctx context.Context, pod *v1.Pod) error {
	return c.dynamic.PrepareResources(ctx, pod)
}

func (c *containerManager) UnprepareDynamicResources(ctx context.Context, pod *v1.Pod) error {
	return c.dynamic.UnprepareResources(ctx, pod)
}

// UpdateAllocatedResourcesStatus puts the devices that containers have, and their health, into a pod's status.
func (c *containerManager) UpdateAllocatedResourcesStatus(pod *v1.Pod, status *v1.PodStatus) {
	c.plugged.UpdateAllocatedResourcesStatus(pod, status)
	c.dynamic.UpdateAllocatedResourcesStatus(pod, status)
}

// Updates names the pods of devices whose health has changed.
func (c *containerManager) Updates() <-chan resourceupdates.Update { return c.updates }

// forward passes on the updates of both managers of devices.
func (c *containerManager) forward() {
	for _, from := range []<-chan resourceupdates.Update{c.dynamic.Updates(), c.plugged.Updates()} {
		go func() {
			for u := range from {
				c.updates <- u
			}
		}()
	}
}

func (c *containerManager) PodMightNeedToUnprepareResources(uid types.UID) bool {
	return c.dynamic.PodMightNeedToUnprepareResources(uid)
}
