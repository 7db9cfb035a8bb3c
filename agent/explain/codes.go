package explain

// The codes of findings.
const (
	Node           Code = "node"
	Held           Code = "held"
	HeldBefore     Code = "held.before"
	HeldBeforeCall Code = "held.before.call"
	HeldAfter      Code = "held.after"
	HeldDeleting   Code = "held.deleting"
	AgentUnknown   Code = "agent.unknown"
	Refused        Code = "refused"
	RefusedReason  Code = "refused.reason"

	GoneSource  Code = "gone.source"
	GoneCluster Code = "gone.cluster"
	GoneSandbox Code = "gone.sandbox"
	Finalizers  Code = "finalizers"
	ObjectKept  Code = "object.kept"
	Deleting    Code = "deleting"

	CallAt           Code = "call.at"
	CallFor          Code = "call.for"
	CallFails        Code = "call.fails"
	CallNone         Code = "call.none"
	ImageQueue       Code = "image.queue"
	ImageQueueBehind Code = "image.queue.behind"

	TurnRetrying            Code = "turn.retrying"
	ContainerCrashLoop      Code = "container.crashloop"
	ContainerBlocked        Code = "container.blocked"
	ContainerBlockedSomehow Code = "container.blocked.somehow"
	ContainerRestarts       Code = "container.restarts"
	ContainerAgain          Code = "container.again"
	Warned                  Code = "warned"
	WarnedSomehow           Code = "warned.somehow"

	Ended             Code = "ended"
	EndedDeleted      Code = "ended.deleted"
	EndedContainers   Code = "ended.containers"
	Running           Code = "running"
	RunningUnasked    Code = "running.unasked"
	Unready           Code = "unready"
	UnreadyProbe      Code = "unready.probe"
	WaitingContainers Code = "waiting.containers"
	WaitingWorker     Code = "waiting.worker"

	Quiet        Code = "quiet"
	QuietSandbox Code = "quiet.sandbox"
	QuietKnown   Code = "quiet.known"
	QuietBound   Code = "quiet.bound"
	CallsUnasked Code = "quiet.unasked"
)

// The codes of the sentences that say more about a finding.
const (
	CallDeleting       Code = "more.deleting"
	CallLong           Code = "more.long"
	DeletingFinalizers Code = "more.finalizers"
	Detail             Code = "more.detail"
	ContainerExit      Code = "more.exit"
	Restarts           Code = "more.restarts"
	Tries              Code = "more.tries"
	BackOffEnds        Code = "more.backOffEnds"
	NextTry            Code = "more.nextTry"
	NextLook           Code = "more.nextLook"
)

// The codes of the phrases that an error of a turn is read as. The kubelet's own reasons have
// codes of the form failure.ErrImagePull.
const (
	CauseContainer Code = "cause.container"
	CauseDetail    Code = "cause.detail"
	CauseFailure   Code = "cause.failure"
	CauseRoot      Code = "cause.root"
	CauseMissing   Code = "cause.missing"
	CauseReason    Code = "cause.reason"
	CauseVolumes   Code = "cause.volumes"
	CauseNetwork   Code = "cause.network"
	CauseError     Code = "cause.error"
)

// The codes that say who saw or reported an evidence.
const (
	SeenInside  Code = "evidence.inside" // a probe inside the kubelet
	SeenCall    Code = "evidence.call"   // a probe that sees the kubelet's calls
	ByAPIServer Code = "evidence.api"
	ByPods      Code = "evidence.pods" // the kubelet's /pods
	ByRuntime   Code = "evidence.runtime"
)
