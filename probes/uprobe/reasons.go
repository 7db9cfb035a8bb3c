package uprobe

import "github.com/podstep/podstep/probes"

func why(code, en, zh string) probes.ReasonCode {
	return probes.NewReason("uprobe."+code, probes.Text{En: en, Zh: zh})
}

var (
	higherTier = why("tier", "looked at only on request: podstep attach --tier 2", "只在要求时查看：podstep attach --tier 2")
	// insideHigher is of a step of which nothing is shown unless something happens in it.
	insideHigher = why("inside", "shown only with what happens in it, which is looked at on request: podstep attach --tier 2", "只与其中发生的事一起显示，而后者只在要求时查看：podstep attach --tier 2")
	notThere     = why("notThere", "not seen in this kubelet: {error}", "在这个 kubelet 里看不到：{error}")
	notKnown     = why("notKnown", "its code cannot be read: {error}", "无法读懂它的代码：{error}")
	notFunc      = why("outside", "it is not a function of the kubelet", "它不是 kubelet 的函数")
	notOpened    = why("notOpened", "this kubelet cannot be looked into: {error}", "无法观察这个 kubelet 的内部：{error}")
	onlySees     = why("onlySees", "this probe only looks", "这个探针只能观察")
	notAllowed   = why("notAllowed", "holding inside the kubelet is not allowed here: podstep attach --allow-holds", "未允许在 kubelet 内部停住 Pod：podstep attach --allow-holds")
	noFaults     = why("noFaults", "only a woven kubelet can be made to fail", "只有织入的 kubelet 才能让它出错")
)
