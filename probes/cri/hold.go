package cri

import (
	"slices"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// holdable are the methods before which a pod may be held: its worker calls
// them, or a goroutine that the worker started to kill a container, and none
// of the kubelet's loops does so for a living pod.
var holdable = []string{
	"RunPodSandbox", "CreateContainer", "StartContainer", "StopContainer", "StopPodSandbox",
	"UpdateContainerResources", "UpdatePodSandboxResources",
}

// unholdable says of the other methods why not. In a woven kubelet a pod may be
// held at some of them, since it is seen whose goroutine makes the call.
var unholdable = map[string]string{
	"PodSandboxStatus": "PLEG makes this call too, with its relist lock held, and seen from outside the kubelet its calls look like the worker's",
	"ContainerStatus":  "PLEG makes this call, with its relist lock held, and seen from outside the kubelet its calls look like the worker's",
	"ExecSync":         "most of these are exec health probes; one that is held counts as failed, and the container is restarted",
	"ImageStatus":      "the request does not say for which pod the kubelet asks, and the puller of all pods asks here too",
	"PullImage":        "by default one goroutine pulls for all pods; while it stands, no image is pulled on the node",
	"RemoveContainer":  "garbage collection removes containers of all pods here, on one goroutine",
	"RemovePodSandbox": "only garbage collection comes here, on one goroutine that cleans up after all pods",
	"RemoveImage":      "this frees disk space for the whole node and belongs to no pod",
	"RuntimeConfig":    "the kubelet is still starting up here, and no pod is served yet",
}

// Holdable tells whether a pod may be held before the call of that step is sent
// on, and if not, why. No pod is held after a call.
func Holdable(step string) (may bool, why string) {
	m := OfStep(step)
	if m == nil {
		return false, "it is no call to the runtime, and only those can be held from outside the kubelet"
	}
	if slices.Contains(holdable, m.rpc) {
		return true, ""
	}
	return false, unholdable[m.rpc]
}

// Shared tells why this one call must not be held although its method may: it
// is made on a goroutine that serves other pods. It is empty if nothing in the
// call, or in what is known of its sandbox, says so.
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

// onlyAffinity tells the calls of the CPU manager, which set nothing but which
// CPUs a container may use, from those of a resize, which never set that.
func onlyAffinity(q *runtimeapi.UpdateContainerResourcesRequest) bool {
	l, w := q.GetLinux(), q.GetWindows()
	if l.GetCpusetCpus() == "" && len(w.GetAffinityCpus()) == 0 {
		return false
	}
	return l.GetCpuQuota() == 0 && l.GetCpuShares() == 0 && l.GetMemoryLimitInBytes() == 0 &&
		w.GetCpuShares() == 0 && w.GetCpuMaximum() == 0 && w.GetMemoryLimitInBytes() == 0
}
