package simnode

import (
	"context"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	internalapi "k8s.io/cri-api/pkg/apis"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/resourceupdates"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/status"
	"k8s.io/utils/cpuset"

	"github.com/podstep/podstep/lab/pressure"
	"github.com/podstep/podstep/probes"
)

// reserved is kept back from pods. It is as much as the kubelet's own threshold for eviction, so that pods within
// their requests never reach that.
const reserved = 100 << 20

// containerManager is the kubelet's topology, CPU, memory, device and DRA manager, with simulated cgroups.
type containerManager struct {
	cm.ContainerManager // the stub, for what does not exist here
	config              cm.NodeConfig
	pods                *podCgroups
	topology            topologymanager.Manager
	cpu                 cpumanager.Manager
	memory              memorymanager.Manager
	dynamic             *dra.Manager
	plugged             *devicemanager.ManagerImpl
	updates             chan resourceupdates.Update
}

func newContainerManager(m *machine, cgroups string, server *options.KubeletServer) (cm.ContainerManager, error) {
	logger := klog.Background()
	steps, err := newCgroupSteps(probes.MustLoad())
	if err != nil {
		return nil, err
	}
	stub := cm.NewStubContainerManager()
	c := &containerManager{
		ContainerManager: stub,
		updates:          make(chan resourceupdates.Update, 10),
		config:           cm.NodeConfig{CgroupsPerQOS: server.CgroupsPerQOS, CgroupRoot: "/", CgroupDriver: "cgroupfs", CgroupVersion: 2},
		pods: &podCgroups{
			PodContainerManager: stub.NewPodContainerManager(), dir: cgroups, qos: qosCgroups(), steps: steps,
			cpuPeriod: server.CPUCFSQuotaPeriod.Duration,
		},
	}
	info, err := m.MachineInfo()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(server.RootDirectory, 0o750); err != nil {
		return nil, fmt.Errorf("create kubelet directory: %w", err)
	}
	if c.topology, err = topologymanager.NewManager(info.Topology, server.TopologyManagerPolicy, server.TopologyManagerScope, nil); err != nil {
		return nil, fmt.Errorf("create topology manager: %w", err)
	}
	held := c.GetNodeAllocatableReservation()
	if c.cpu, err = cpumanager.NewManager(logger, server.CPUManagerPolicy, nil, server.CPUManagerReconcilePeriod.Duration, info, cpuset.New(), held, server.RootDirectory, c.topology); err != nil {
		return nil, fmt.Errorf("create CPU manager: %w", err)
	}
	if c.memory, err = memorymanager.NewManager(logger, server.MemoryManagerPolicy, info, held, nil, server.RootDirectory, c.topology); err != nil {
		return nil, fmt.Errorf("create memory manager: %w", err)
	}
	if c.dynamic, err = newDynamicResources(server); err != nil {
		return nil, err
	}
	if c.plugged, err = newPlugged(logger, server.RootDirectory, info.Topology, c.topology); err != nil {
		return nil, fmt.Errorf("create device manager: %w", err)
	}
	c.forward()
	c.topology.AddHintProvider(logger, c.plugged)
	c.topology.AddHintProvider(logger, c.cpu)
	c.topology.AddHintProvider(logger, c.memory)
	return c, nil
}

func (c *containerManager) Start(ctx context.Context, node *v1.Node, activePods cm.ActivePodsFunc, getNode cm.GetNodeFunc, ready config.SourcesReady, pods status.PodStatusProvider, runtime internalapi.RuntimeService, localStorage bool) error {
	if err := c.ContainerManager.Start(ctx, node, activePods, getNode, ready, pods, runtime, localStorage); err != nil {
		return err
	}
	if err := c.cpu.Start(ctx, cpumanager.ActivePodsFunc(activePods), ready, pods, runtime, containermap.NewContainerMap()); err != nil {
		return fmt.Errorf("start CPU manager: %w", err)
	}
	if err := c.memory.Start(ctx, memorymanager.ActivePodsFunc(activePods), ready, pods, runtime, containermap.NewContainerMap()); err != nil {
		return fmt.Errorf("start memory manager: %w", err)
	}
	if err := c.dynamic.Start(ctx, dra.ActivePodsFunc(activePods), dra.GetNodeFunc(getNode), ready); err != nil {
		return fmt.Errorf("start DRA manager: %w", err)
	}
	known, running := containersOf(ctx, runtime)
	if err := c.plugged.Start(klog.FromContext(ctx), devicemanager.ActivePodsFunc(activePods), ready, known, running); err != nil {
		return fmt.Errorf("start device manager: %w", err)
	}
	return nil
}

func (c *containerManager) GetNodeConfig() cm.NodeConfig { return c.config }

func (c *containerManager) GetQOSContainersInfo() cm.QOSContainersInfo { return c.pods.qos }

func (c *containerManager) GetPodCgroupRoot() string { return c.pods.qos.Guaranteed.ToCgroupfs() }

func (c *containerManager) NewPodContainerManager() cm.PodContainerManager { return c.pods }

// UpdateQOSCgroups makes the cgroups above pods. They have no limits that it could update.
func (c *containerManager) UpdateQOSCgroups(klog.Logger) error {
	return c.pods.steps.refresh.around(nil, func() error {
		for _, parent := range c.pods.parents() {
			if err := os.MkdirAll(c.pods.path(parent), 0o755); err != nil {
				return fmt.Errorf("create cgroup: %w", err)
			}
		}
		return nil
	})
}

func (c *containerManager) GetAllocateResourcesPodAdmitHandler() lifecycle.PodAdmitHandler {
	return c.topology
}

func (c *containerManager) GetCapacity(localStorage bool) v1.ResourceList {
	if !localStorage {
		return nil
	}
	return v1.ResourceList{v1.ResourceEphemeralStorage: *resource.NewQuantity(int64(pressure.Capacity.Disk), resource.BinarySI)}
}

func (c *containerManager) GetNodeAllocatableReservation() v1.ResourceList {
	return v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(reserved, resource.BinarySI)}
}
