package cri

import (
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// holdable are the methods before which a pod may be held. The pod's worker calls them, or a goroutine that the
// worker started to kill a container. None of the kubelet's loops calls them for a living pod.
var holdable = []string{
	"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox",
	"UpdateContainerResources", "UpdatePodSandboxResources",
}

// Shared reports why this one call must not be held although its method may be: it is made on a goroutine that
// serves other pods. It returns "" if nothing in the call, or in what is known of its sandbox, shows that.
func (x *Identities) Shared(r Request) string {
	switch q := r.message.(type) {
	case *runtimeapi.StopPodSandboxRequest:
		// Garbage collection stops a sandbox once more before it removes it. A
		// worker seldom does so, and loses only the chance to be held.
		if x.stopped(q.PodSandboxId) {
			return "this sandbox has stopped already: it is most likely garbage collection that stops it again, on one goroutine for the whole node"
		}
	case *runtimeapi.UpdateContainerResourcesRequest:
		if onlyAffinity(q) {
			return "only the cpuset is changed: that is the CPU manager, which corrects the cpusets of all pods on one goroutine"
		}
	}
	return ""
}

// onlyAffinity tells the calls of the CPU manager from those of a resize. The CPU manager sets only which CPUs a
// container may use; a resize never sets that.
func onlyAffinity(q *runtimeapi.UpdateContainerResourcesRequest) bool {
	l, w := q.GetLinux(), q.GetWindows()
	if l.GetCpusetCpus() == "" && len(w.GetAffinityCpus()) == 0 {
		return false
	}
	return l.GetCpuQuota() == 0 && l.GetCpuShares() == 0 && l.GetMemoryLimitInBytes() == 0 &&
		w.GetCpuShares() == 0 && w.GetCpuMaximum() == 0 && w.GetMemoryLimitInBytes() == 0
}
