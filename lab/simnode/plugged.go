package simnode

import (
	"context"
	"path/filepath"
	_ "unsafe" // go:linkname

	cadvisorv1 "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/server/healthz"
	internalapi "k8s.io/cri-api/pkg/apis"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/podstep/podstep/lab/deviceplugin"
)

// newDeviceManager is the kubelet's function, and no copy of it. The one that other packages may call listens below
// /var/lib/kubelet, which is the machine's.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(logger klog.Logger, socket string, topology []cadvisorv1.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error)

// containersOf is the kubelet's function, too. A kubelet that is started again learns by it which containers run, and
// have their devices already.
//
//go:linkname containersOf k8s.io/kubernetes/pkg/kubelet/cm.buildContainerMapAndRunningSetFromRuntime
func containersOf(ctx context.Context, runtime internalapi.RuntimeService) (containermap.ContainerMap, sets.Set[string])

// newPlugged returns the kubelet's own manager of device plugins, for the kubelet with a root directory.
func newPlugged(logger klog.Logger, root string, topology []cadvisorv1.Node, store topologymanager.Store) (*devicemanager.ManagerImpl, error) {
	return newDeviceManager(logger, filepath.Join(deviceplugin.Dir(root), "kubelet.sock"), topology, store)
}

// pluggedResources adds what device plugins give a container to what it has.
func (c *containerManager) pluggedResources(ctx context.Context, pod *v1.Pod, ctr *v1.Container, has *container.RunContainerOptions) error {
	more, err := c.plugged.GetDeviceRunContainerOptions(ctx, pod, ctr)
	if err != nil || more == nil {
		return err
	}
	has.Devices = append(has.Devices, more.Devices...)
	has.Mounts = append(has.Mounts, more.Mounts...)
	has.Envs = append(has.Envs, more.Envs...)
	has.Annotations = append(has.Annotations, more.Annotations...)
	has.CDIDevices = append(has.CDIDevices, more.CDIDevices...)
	return nil
}

func (c *containerManager) UpdatePluginResources(node *schedulerframework.NodeInfo, attrs *lifecycle.PodAdmitAttributes) error {
	return c.plugged.UpdatePluginResources(node, attrs)
}

func (c *containerManager) GetDevicePluginResourceCapacity() (capacity, allocatable v1.ResourceList, gone []string) {
	return c.plugged.GetCapacity()
}

func (c *containerManager) ShouldResetExtendedResourceCapacity() bool {
	return c.plugged.ShouldResetExtendedResourceCapacity()
}

func (c *containerManager) UpdateAllocatedDevices() { c.plugged.UpdateAllocatedDevices() }

func (c *containerManager) GetHealthCheckers() []healthz.HealthChecker {
	return []healthz.HealthChecker{c.plugged.GetHealthChecker()}
}
