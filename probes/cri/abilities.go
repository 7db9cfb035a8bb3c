package cri

import (
	"slices"

	"github.com/podstep/podstep/probes"
)

// Abilities are those of a probe that the calls pass through: it reads request and
// answer, may keep the request back, and may answer in the runtime's place. No pod
// is held after a call.
func Abilities(c *probes.Catalogue) probes.Abilities { return abilities(c, false) }

// AllAbilities are Abilities of a probe that also shows the calls of Others.
func AllAbilities(c *probes.Catalogue) probes.Abilities { return abilities(c, true) }

func abilities(c *probes.Catalogue, all bool) probes.Abilities {
	out := probes.Abilities{Probe: "cri", Steps: map[string]probes.Ability{}}
	for i := range c.Steps {
		s := &c.Steps[i]
		switch m := OfStep(s.Name); {
		case m != nil:
			can := probes.Everything()
			can.HoldExit = false
			if can.HoldEnter = slices.Contains(holdable, m.rpc); !can.HoldEnter {
				can.NoHold = unholdable[m.rpc].Reason()
			}
			out.Steps[s.Name] = can
		case s.Name == Other:
			out.Steps[s.Name] = otherAbility(all)
		case s.Seen == probes.ByRuntime:
			why := listed.Reason()
			out.Steps[s.Name] = probes.Ability{Entry: true, Exit: true, Arguments: true, Results: true, NoHold: why, NoFail: why}
		case !s.Outside():
			why, ok := insideOf[s.Stage]
			if !ok {
				why = Inside
			}
			out.Steps[s.Name] = probes.Ability{Unseen: why.Reason()}
		}
	}
	return out
}

var listed = why("hold.listed", "it is what the runtime lists, and no call of the kubelet", "这是运行时列出的内容，不是 kubelet 的调用")

// Inside is why a step is not seen of which there is nothing better to say.
var Inside = why("inside", "happens inside the kubelet; only a woven kubelet shows it", "发生在 kubelet 内部；只有织入的 kubelet 才能显示")

// insideOf says for a stage where traces of its steps are seen all the same.
var insideOf = map[string]probes.ReasonCode{
	"boot":      why("inside.boot", "happens inside the kubelet while it starts; only a woven kubelet shows it", "发生在 kubelet 启动期间的内部；只有织入的 kubelet 才能显示"),
	"admit":     why("inside.admit", "happens inside the kubelet; what it refuses shows in the pod's status, how it decides only a woven kubelet shows", "发生在 kubelet 内部；它拒绝的结果见 Pod 的状态，如何决定只有织入的 kubelet 才能显示"),
	"syncpod":   why("inside.syncpod", "happens inside the kubelet; its calls to the runtime are seen, what comes before them only a woven kubelet shows", "发生在 kubelet 内部；能看到它对运行时的调用，调用之前的事只有织入的 kubelet 才能显示"),
	"runtime":   why("inside.runtime", "happens inside the kubelet; the calls to the runtime that come of it are seen", "发生在 kubelet 内部；能看到由此产生的对运行时的调用"),
	"image":     why("inside.image", "happens inside the kubelet; PullImage and ImageStatus, which come of it, are seen", "发生在 kubelet 内部；能看到由此产生的 PullImage 和 ImageStatus"),
	"pleg":      why("inside.pleg", "happens inside the kubelet; the status calls that it makes are seen", "发生在 kubelet 内部；能看到它发出的状态调用"),
	"status":    why("inside.status", "happens inside the kubelet; what comes of it shows in the pod's status at the API server", "发生在 kubelet 内部；结果见 API server 上 Pod 的状态"),
	"probe":     why("inside.probe", "happens inside the kubelet; of health probes only those that run a command are seen, as ExecSync", "发生在 kubelet 内部；健康探针中只有执行命令的能看到，即 ExecSync"),
	"volume":    why("inside.volume", "happens inside the kubelet and goes to no runtime; only a woven kubelet shows it", "发生在 kubelet 内部，不经过运行时；只有织入的 kubelet 才能显示"),
	"terminate": why("inside.terminate", "happens inside the kubelet; StopContainer and StopPodSandbox, which come of it, are seen", "发生在 kubelet 内部；能看到由此产生的 StopContainer 和 StopPodSandbox"),
	"evict":     why("inside.evict", "happens inside the kubelet; an eviction shows in the pod's status at the API server", "发生在 kubelet 内部；驱逐会显示在 API server 上 Pod 的状态中"),
	"resize":    why("inside.resize", "happens inside the kubelet; UpdateContainerResources and UpdatePodSandboxResources, which come of it, are seen", "发生在 kubelet 内部；能看到由此产生的 UpdateContainerResources 和 UpdatePodSandboxResources"),
	"gc":        why("inside.gc", "happens inside the kubelet; the Remove calls that come of it are seen", "发生在 kubelet 内部；能看到由此产生的 Remove 调用"),
	"http":      why("inside.http", "goes to the kubelet's own server, and its streams do not pass through the runtime's socket", "发往 kubelet 自己的服务器，它的流不经过运行时的套接字"),
}
