package cri

import (
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
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
var unholdable = map[string]probes.ReasonCode{
	"PodSandboxStatus": why("hold.podSandboxStatus", "PLEG makes this call too, with its relist lock held, and seen from outside the kubelet its calls look like the worker's",
		"PLEG 也会发出此调用，当时它持有 relist 锁；从 kubelet 外面看，它的调用与 worker 的一样"),
	"ContainerStatus": why("hold.containerStatus", "PLEG makes this call, with its relist lock held, and seen from outside the kubelet its calls look like the worker's",
		"PLEG 会发出此调用，当时它持有 relist 锁；从 kubelet 外面看，它的调用与 worker 的一样"),
	"ExecSync": why("hold.execSync", "most of these are exec health probes; one that is held counts as failed, and the container is restarted",
		"其中多数是 exec 健康探针；被停住的一次算作失败，容器会被重启"),
	"ImageStatus": why("hold.imageStatus", "the request does not name a pod, and the puller of all pods makes this call too",
		"请求里没有写明 Pod，而且为所有 Pod 拉取镜像的 goroutine 也会发出此调用"),
	"PullImage": why("hold.pullImage", "by default one goroutine pulls for all pods; while it stands, no image is pulled on the node",
		"默认由一个 goroutine 为所有 Pod 拉取镜像；它停住时，节点上不会拉取任何镜像"),
	"RemoveContainer": why("hold.removeContainer", "garbage collection removes containers of all pods here, on one goroutine",
		"垃圾回收在此用一个 goroutine 删除所有 Pod 的容器"),
	"RemovePodSandbox": why("hold.removePodSandbox", "only garbage collection comes here, on one goroutine that cleans up after all pods",
		"只有垃圾回收会到这里，它用一个 goroutine 清理所有 Pod"),
	"RemoveImage": why("hold.removeImage", "this frees disk space for the whole node and belongs to no pod",
		"这是为整个节点释放磁盘空间，不属于任何 Pod"),
	"RuntimeConfig": why("hold.runtimeConfig", "the kubelet is still starting up here, and no pod is served yet",
		"此时 kubelet 仍在启动，还没有为任何 Pod 服务"),
}

// why declares a reason of this probe.
func why(code, en, zh string) probes.ReasonCode {
	return probes.NewReason("cri."+code, probes.Text{En: en, Zh: zh})
}

// Shared reports why this one call must not be held although its method may: it
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

// onlyAffinity recognizes the calls of the CPU manager, which set nothing but which
// CPUs a container may use, from those of a resize, which never set that.
func onlyAffinity(q *runtimeapi.UpdateContainerResourcesRequest) bool {
	l, w := q.GetLinux(), q.GetWindows()
	if l.GetCpusetCpus() == "" && len(w.GetAffinityCpus()) == 0 {
		return false
	}
	return l.GetCpuQuota() == 0 && l.GetCpuShares() == 0 && l.GetMemoryLimitInBytes() == 0 &&
		w.GetCpuShares() == 0 && w.GetCpuMaximum() == 0 && w.GetMemoryLimitInBytes() == 0
}
