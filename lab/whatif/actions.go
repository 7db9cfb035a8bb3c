package whatif

import (
	"cmp"
	"context"
	"slices"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"github.com/podstep/podstep/agent/whatif"
)

// computePodActions is the kubelet's method, and no copy of it. Its name begins with a small letter, so no other package
// can call it but by its linker name.
//
//go:linkname computePodActions k8s.io/kubernetes/pkg/kubelet/kuberuntime.(*kubeGenericRuntimeManager).computePodActions
func computePodActions(m unsafe.Pointer, ctx context.Context, pod *v1.Pod, podStatus *kubecontainer.PodStatus, restartAllContainers bool) podActions

// The types that follow are those of package kuberuntime, member by member: the compiler needs them for the result of
// computePodActions. TestTypesAreTheKubelets compares them with the kubelet's source.
type (
	podActions struct {
		KillPod                    bool
		CreateSandbox              bool
		SandboxID                  string
		Attempt                    uint32
		InitContainersToStart      []int
		ContainersToStart          []int
		ContainersToKill           map[kubecontainer.ContainerID]containerToKillInfo
		EphemeralContainersToStart []int
		ContainersToUpdate         map[v1.ResourceName][]containerToUpdateInfo
		UpdatePodResources         bool
		ContainersToReset          []containerToRemoveInfo
		UpdatePodLevelResources    bool
	}
	containerToKillInfo struct {
		//lint:ignore U1000 the kubelet's type has it
		container *v1.Container
		name      string
		message   string
		reason    containerKillReason
	}
	containerToUpdateInfo struct {
		container                 *v1.Container
		kubeContainerID           kubecontainer.ContainerID
		desiredContainerResources resourceRequirements
		currentContainerResources *resourceRequirements
	}
	containerToRemoveInfo struct {
		containerID kubecontainer.ContainerID
		container   *v1.Container
		kill        bool
	}
	resourceRequirements struct {
		memoryLimit   int64
		memoryRequest int64
		cpuLimit      int64
		cpuRequest    int64
	}
	containerKillReason string
)

// planOf returns the kubelet's decisions with names.
func planOf(pod *v1.Pod, status *kubecontainer.PodStatus, a *podActions) *whatif.Plan {
	p := &whatif.Plan{
		KillPod: a.KillPod, CreateSandbox: a.CreateSandbox, SandboxID: a.SandboxID, Attempt: a.Attempt,
		UpdatePodResources: a.UpdatePodResources, UpdatePodLevelResources: a.UpdatePodLevelResources,
	}
	for _, i := range a.InitContainersToStart {
		p.InitToStart = append(p.InitToStart, whatif.Place{Index: i, Name: pod.Spec.InitContainers[i].Name})
	}
	for _, i := range a.ContainersToStart {
		p.ToStart = append(p.ToStart, whatif.Place{Index: i, Name: pod.Spec.Containers[i].Name})
	}
	for _, i := range a.EphemeralContainersToStart {
		p.EphemeralToStart = append(p.EphemeralToStart, whatif.Place{Index: i, Name: pod.Spec.EphemeralContainers[i].Name})
	}
	// The kubelet kills them all at the same time, and has them in a map. The order of the statuses is the same each time.
	for _, s := range status.ContainerStatuses {
		if k, is := a.ContainersToKill[s.ID]; is {
			p.ToKill = append(p.ToKill, whatif.Kill{Name: k.name, ID: s.ID.String(), Message: k.message, Reason: string(k.reason)})
		}
	}
	for resource, list := range a.ContainersToUpdate {
		for _, u := range list {
			p.ToUpdate = append(p.ToUpdate, whatif.Update{
				Resource: string(resource), Name: u.container.Name, ID: u.kubeContainerID.String(),
				Desired: public(u.desiredContainerResources), Current: public(*u.currentContainerResources),
			})
		}
	}
	slices.SortStableFunc(p.ToUpdate, func(x, y whatif.Update) int { return cmp.Compare(x.Resource, y.Resource) })
	for _, r := range a.ContainersToReset {
		p.ToReset = append(p.ToReset, whatif.Reset{Name: r.container.Name, ID: r.containerID.String(), Kill: r.kill})
	}
	return p
}

func public(r resourceRequirements) whatif.Resources {
	return whatif.Resources{MemoryLimit: r.memoryLimit, MemoryRequest: r.memoryRequest, CPULimit: r.cpuLimit, CPURequest: r.cpuRequest}
}
