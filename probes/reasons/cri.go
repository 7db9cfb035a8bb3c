package reasons

import "github.com/podstep/podstep/probes"

// Unholdable has, by method, why no pod is held before it. In a woven kubelet a pod may be held at some of them,
// since there the calling goroutine is known.
var Unholdable = map[string]probes.ReasonCode{
	"PodSandboxStatus": why("cri.hold.podSandboxStatus", "PLEG makes this call too, with its relist lock held, and seen from outside the kubelet its calls look like the worker's",
		"PLEG 也会发出此调用，当时它持有 relist 锁；从 kubelet 外面看，它的调用与 worker 的一样"),
	"ContainerStatus": why("cri.hold.containerStatus", "PLEG makes this call, with its relist lock held, and seen from outside the kubelet its calls look like the worker's",
		"PLEG 会发出此调用，当时它持有 relist 锁；从 kubelet 外面看，它的调用与 worker 的一样"),
	"ExecSync": why("cri.hold.execSync", "most of these are exec health probes; one that is held counts as failed, and the container is restarted",
		"其中多数是 exec 健康探针；被停住的一次算作失败，容器会被重启"),
	"ImageStatus": why("cri.hold.imageStatus", "the request does not name a pod, and the puller of all pods makes this call too",
		"请求里没有写明 Pod，而且为所有 Pod 拉取镜像的 goroutine 也会发出此调用"),
	"PullImage": why("cri.hold.pullImage", "by default one goroutine pulls for all pods; while it stands, no image is pulled on the node",
		"默认由一个 goroutine 为所有 Pod 拉取镜像；它停住时，节点上不会拉取任何镜像"),
	"RemoveContainer": why("cri.hold.removeContainer", "garbage collection removes containers of all pods here, on one goroutine",
		"垃圾回收在此用一个 goroutine 删除所有 Pod 的容器"),
	"RemovePodSandbox": why("cri.hold.removePodSandbox", "only garbage collection comes here, on one goroutine that cleans up after all pods",
		"只有垃圾回收会到这里，它用一个 goroutine 清理所有 Pod"),
	"RemoveImage": why("cri.hold.removeImage", "this frees disk space for the whole node and belongs to no pod",
		"这是为整个节点释放磁盘空间，不属于任何 Pod"),
	"RuntimeConfig": why("cri.hold.runtimeConfig", "the kubelet is still starting up here, and no pod is served yet",
		"此时 kubelet 仍在启动，还没有为任何 Pod 服务"),
}

// Listed is why no pod is held at a report of what the runtime lists.
var Listed = why("cri.hold.listed", "it is what the runtime lists, and no call of the kubelet", "这是运行时列出的内容，不是 kubelet 的调用")

// Inside is why the cri probe does not see a step of a stage that InsideOf lacks, and why a probe that is left out would not.
var Inside = beyond("cri.inside", "happens inside the kubelet", "发生在 kubelet 内部")

// InsideOf has, by stage, why its steps are not seen, where traces of them are seen all the same.
var InsideOf = map[string]probes.ReasonCode{
	"boot":      beyond("cri.inside.boot", "happens inside the kubelet while it starts", "发生在 kubelet 启动期间的内部"),
	"admit":     beyond("cri.inside.admit", "happens inside the kubelet; what it refuses shows in the pod's status", "发生在 kubelet 内部；它拒绝的结果见 Pod 的状态"),
	"syncpod":   beyond("cri.inside.syncpod", "happens inside the kubelet; its calls to the runtime are seen", "发生在 kubelet 内部；能看到它对运行时的调用"),
	"runtime":   beyond("cri.inside.runtime", "happens inside the kubelet; the calls to the runtime that come of it are seen", "发生在 kubelet 内部；能看到由此产生的对运行时的调用"),
	"image":     beyond("cri.inside.image", "happens inside the kubelet; PullImage and ImageStatus, which come of it, are seen", "发生在 kubelet 内部；能看到由此产生的 PullImage 和 ImageStatus"),
	"pleg":      beyond("cri.inside.pleg", "happens inside the kubelet; the status calls that it makes are seen", "发生在 kubelet 内部；能看到它发出的状态调用"),
	"status":    beyond("cri.inside.status", "happens inside the kubelet; what comes of it shows in the pod's status at the API server", "发生在 kubelet 内部；结果见 API server 上 Pod 的状态"),
	"probe":     beyond("cri.inside.probe", "happens inside the kubelet; of health probes only those that run a command are seen, as ExecSync", "发生在 kubelet 内部；健康探针中只有执行命令的能看到，即 ExecSync"),
	"volume":    beyond("cri.inside.volume", "happens inside the kubelet and goes to no runtime", "发生在 kubelet 内部，不经过运行时"),
	"terminate": beyond("cri.inside.terminate", "happens inside the kubelet; StopContainer and StopPodSandbox, which come of it, are seen", "发生在 kubelet 内部；能看到由此产生的 StopContainer 和 StopPodSandbox"),
	"evict":     beyond("cri.inside.evict", "happens inside the kubelet; an eviction shows in the pod's status at the API server", "发生在 kubelet 内部；驱逐会显示在 API server 上 Pod 的状态中"),
	"resize":    beyond("cri.inside.resize", "happens inside the kubelet; UpdateContainerResources and UpdatePodSandboxResources, which come of it, are seen", "发生在 kubelet 内部；能看到由此产生的 UpdateContainerResources 和 UpdatePodSandboxResources"),
	"gc":        beyond("cri.inside.gc", "happens inside the kubelet; the Remove calls that come of it are seen", "发生在 kubelet 内部；能看到由此产生的 Remove 调用"),
	"http":      beyond("cri.inside.http", "goes to the kubelet's own server, and its streams do not pass through the runtime's socket", "发往 kubelet 自己的服务器，它的流不经过运行时的套接字"),
}

// The reasons of calls that are no steps.
var (
	NotAsked = why("cri.other.notAsked", "most of these calls come every second and are about no pod; podstep attach --all-calls shows them",
		"这些调用大多每秒都有，且与具体 Pod 无关；podstep attach --all-calls 会显示它们")
	Bare = why("cri.other.bare", "podstep shows only that this call is made: most are about all pods at once",
		"podstep 只显示有这个调用：它们大多同时涉及所有 Pod")
)
