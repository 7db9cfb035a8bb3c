package reasons

import "github.com/podstep/podstep/probes"

// The reasons of the hook in a woven kubelet.
var (
	NotWoven   = probes.NewReason("woven.not", probes.Text{En: "not woven into this kubelet", Zh: "没有织入这个 kubelet"})
	NoFunction = beyond("woven.outside", "not a function of the kubelet; a podstep attached to one sees this", "不是 kubelet 的函数；附加到 kubelet 的 podstep 能看到它")
	NoError    = probes.NewReason("woven.noError", probes.Text{En: "it returns no error", Zh: "它不返回错误"})
	Differs    = probes.NewReason("woven.differs", probes.Text{
		En: "this kubelet's function is not the one of {version} from which podstep knows which locks are held here",
		Zh: "这个 kubelet 的函数不是 {version} 的那一个，podstep 只知道后者在此处持有哪些锁",
	})
	NotInVersion = why("woven.notInVersion", "kubelet {version} has no {function}", "kubelet {version} 没有 {function}")
	Misfit       = why("woven.misfit", "left out, as its {part} does not fit kubelet {version}: {error}", "未织入：其 {part} 与 kubelet {version} 不符：{error}")
	WorkerOnly   = why("woven.workerOnly", "in kubelet {version} podstep holds a pod only on its worker's goroutine", "在 kubelet {version} 中，podstep 只在 Pod 的 worker goroutine 上停住 Pod")
)
