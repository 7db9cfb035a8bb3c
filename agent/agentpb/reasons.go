package agentpb

// Why a hold ended: what the field "reason" of a RELEASE event says, and the
// argument "reason" of a Problem. Agents before v0.2 wrote an English sentence
// there, except for ReleaseContinue and ReleaseStep.
const (
	// ReleaseContinue: Continue was asked for.
	ReleaseContinue = "continue"
	// ReleaseStep: Step was asked for; the pod is held again at the next place.
	ReleaseStep = "step"
	// ReleaseLease: the lease is over.
	ReleaseLease = "lease"
	// ReleaseTimer: a timer of the kubelet was about to run out. The event's field
	// "timer" names it.
	ReleaseTimer = "timer"
	// ReleaseClientGone: the client whose hold it was is gone.
	ReleaseClientGone = "client-gone"
	// ReleaseCallGivenUp: the kubelet does not wait for the call any more.
	ReleaseCallGivenUp = "call-given-up"
	// ReleaseAgentEnds: the agent ends.
	ReleaseAgentEnds = "agent-ends"
	// ReleasePodKilled: somebody waits for the pod to be killed.
	ReleasePodKilled = "pod-killed"
	// ReleaseNodeShutdown: the node shuts down.
	ReleaseNodeShutdown = "node-shutdown"
	// ReleaseWorkerEnded: the pod's worker has ended. It is for waits only.
	ReleaseWorkerEnded = "worker-ended"
)

// EndsByLease is HoldInfo.ends_by, and the field "endsBy" of a HOLD event, of a
// hold that no timer ends before its lease.
const EndsByLease = "lease"

// NoteBreakpointFull is the field "note" of a NOTE event: the breakpoint of the
// field "breakpoint" lets the pod pass, since as many pods are held as may be,
// which are those of the field "held".
const NoteBreakpointFull = "breakpoint-full"
