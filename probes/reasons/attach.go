package reasons

import "github.com/podstep/podstep/probes"

// HeldByCRI is why the probe inside the kubelet holds nothing at its calls of the runtime.
var HeldByCRI = probes.NewReason("attach.heldByCRI", probes.Text{
	En: "the cri probe holds there",
	Zh: "这里由 cri 探针负责停住",
})

// Passive and NotNamed are reasons to leave a probe out.
var (
	Passive = probes.NewReason("attach.passive", probes.Text{
		En: "podstep attach --passive puts nothing in the path of the kubelet's calls",
		Zh: "podstep attach --passive 不在 kubelet 的调用路径中放置任何东西",
	})
	NotNamed = probes.NewReason("attach.notNamed", probes.Text{
		En: "podstep attach --probe does not name it",
		Zh: "podstep attach --probe 没有指定它",
	})
)

// NoBreakpoint is why Delve does not see a step.
var NoBreakpoint = probes.NewReason("attach.noBreakpoint", probes.Text{
	En: "the function begins or ends with an instruction at which no breakpoint can stand",
	Zh: "函数开头或结尾的指令处不能放断点",
})

// EachPod is why Delve does not see a step of which every change of a pod makes a call for each pod of the node.
var EachPod = probes.NewReason("attach.eachPod", probes.Text{
	En: "the kubelet calls it for each of its pods whenever one changes, and would stand still each time",
	Zh: "任何一个 Pod 变化时，kubelet 都会为它的每个 Pod 调用一次，每次都要让整个 kubelet 停住",
})

// Stood says for how long Delve has stopped the kubelet.
var Stood = probes.NewReason("attach.stood", probes.Text{
	En: "the kubelet has stood still for {all} in {stops} stops, at most for {worst}; {held} more to hold pods; {twice} stops were taken for repeated ones",
	Zh: "kubelet 共停了 {stops} 次，合计 {all}，最长 {worst}；为停住 Pod 另停了 {held}；其中 {twice} 次被当作重复，不算调用",
})

// Reported is why nothing is held at a report.
var Reported = probes.NewReason("attach.reported", probes.Text{
	En: "it is a report of what has happened already",
	Zh: "这是对已发生之事的报告",
})

// Costs is what looking inside costs the kubelet.
var Costs = probes.NewReason("attach.costs", probes.Text{
	En: "it costs the kubelet {share} of a core now: {hits} hits a second, {each} each",
	Zh: "目前让 kubelet 多花一个核的 {share}：每秒命中 {hits} 次，每次 {each}",
})
