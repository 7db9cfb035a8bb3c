package reasons

// Of the probe inside a running kubelet.
var (
	HigherTier = why("uprobe.tier", "looked at only on request: podstep attach --tier 2", "只在要求时查看：podstep attach --tier 2")
	// InsideHigher is of a step of which nothing is shown unless something happens in it.
	InsideHigher = why("uprobe.inside", "shown only with what happens in it, which is looked at on request: podstep attach --tier 2", "只与其中发生的事一起显示，而后者只在要求时查看：podstep attach --tier 2")
	NotThere     = why("uprobe.notThere", "not seen in this kubelet: {error}", "在这个 kubelet 里看不到：{error}")
	NotKnown     = why("uprobe.notKnown", "its code cannot be read: {error}", "无法读懂它的代码：{error}")
	NotFunction  = why("uprobe.outside", "it is not a function of the kubelet", "它不是 kubelet 的函数")
	NotOpened    = why("uprobe.notOpened", "this kubelet cannot be looked into: {error}", "无法观察这个 kubelet 的内部：{error}")
	OnlySees     = why("uprobe.onlySees", "this probe only looks", "这个探针只能观察")
	NotAllowed   = why("uprobe.notAllowed", "holding inside the kubelet is not allowed here: podstep attach --allow-holds", "未允许在 kubelet 内部停住 Pod：podstep attach --allow-holds")
	NoFaults     = why("uprobe.noFaults", "only a woven kubelet can be made to fail", "只有织入的 kubelet 才能让它出错")
)
