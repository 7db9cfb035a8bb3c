package reasons

// The reasons of the probe inside a running kubelet.
var (
	HigherTier = why("uprobe.tier", "looked at only on request: podstep attach --tier 2", "只在要求时查看：podstep attach --tier 2")
	// InsideHigher is for a step that is shown only if something happens in it.
	InsideHigher = why("uprobe.inside", "shown only with what happens in it, which is looked at on request: podstep attach --tier 2", "只与其中发生的事一起显示，而后者只在要求时查看：podstep attach --tier 2")
	NotThere     = why("uprobe.notThere", "{error}", "在这个 kubelet 中：{error}")
	NotKnown     = why("uprobe.notKnown", "its code cannot be read: {error}", "无法读懂它的代码：{error}")
	NotFunction  = beyond("uprobe.outside", "it is not a function of the kubelet", "它不是 kubelet 的函数")
	NotOpened    = why("uprobe.notOpened", "this kubelet cannot be looked into: {error}", "无法观察这个 kubelet 的内部：{error}")
	NoTable      = why("uprobe.noTable", "podstep has no table for this version of the kubelet: by that of {version} it finds the pods of calls, and checks them, and it reads and holds nothing else", "podstep 没有这个版本 kubelet 的表：它按 {version} 的表找出调用所属的 Pod 并加以核对，此外不读取任何值，也不停住任何 Pod")
	OnlySees     = why("uprobe.onlySees", "this probe only looks", "这个探针只能观察")
	NotAllowed   = why("uprobe.notAllowed", "holding inside the kubelet is not allowed here: podstep attach --allow-holds", "未允许在 kubelet 内部停住 Pod：podstep attach --allow-holds")
	// NoBeginning is for a kubelet in which the function of a worker cannot be found.
	NoBeginning = why("uprobe.noBeginning", "podstep does not find the function in this kubelet with which such goroutines begin, so nothing shows which of them may wait", "podstep 在这个 kubelet 里找不到这类 goroutine 的起始函数，无从判断哪些可以等待")
	// Nameless is for the beginning of a worker's life in kubelets before v1.27.
	Nameless = why("uprobe.nameless", "where a worker of this kubelet begins, nothing shows yet for which pod: hold the pod at a step within it", "在这个 kubelet 里，worker 刚开始时还看不出它属于哪个 Pod：请在其中的步骤处停住该 Pod")
	OwnPIDs  = why("uprobe.ownPIDs", "podstep runs in a PID namespace of its own, where threads have other numbers than the kernel's program reports: run podstep attach on the machine itself, or with hostPID", "podstep 在自己的 PID 命名空间中运行，线程编号与内核程序报告的不同：请在宿主机上，或以 hostPID 运行 podstep attach")
	Seccomp  = why("uprobe.seccomp", "the kubelet runs under a seccomp filter (SystemCallFilter= of its unit), which may end it at the system call in which a held thread waits (ppoll): run it without the filter to hold pods inside it", "kubelet 运行在 seccomp 过滤器之下（其 unit 的 SystemCallFilter=），被停住的线程等待时所用的系统调用（ppoll）可能使它被终止：如需在其内部停住 Pod，请去掉该过滤器再运行")
	// OtherArguments and OtherSource are about forks, and kubelets that a vendor has patched.
	OtherArguments = why("uprobe.otherArguments", "its function has other arguments in this kubelet than in {version}", "在这个 kubelet 中，它的函数参数与 {version} 的不同")
	OtherSource    = why("uprobe.otherSource", "this kubelet was built from other source than {version}: {functions} of the functions that podstep looks at begin at other lines or have other arguments, and {values} values are not read, as nothing shows where they lie", "这个 kubelet 的源代码与 {version} 不同：podstep 观察的函数中有 {functions} 个起始行或参数不同，并有 {values} 个值因无法确定其位置而不读取")
	NoFaults       = why("uprobe.noFaults", "only a woven kubelet can be made to fail", "只有织入的 kubelet 才能让它出错")
)
