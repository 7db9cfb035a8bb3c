package agentpb

// The reasons for which a hold ends. They are values of the field "reason" of a RELEASE event, and of the argument
// "reason" of a Problem.
const (
	// ReleaseContinue: a client asked for Continue.
	ReleaseContinue = "continue"
	// ReleaseStep: a client asked for Step; the pod is held again at the next place.
	ReleaseStep = "step"
	// ReleaseLease: the lease is over.
	ReleaseLease = "lease"
	// ReleaseTimer: a timer of the kubelet was about to run out. The event's field
	// "timer" names it.
	ReleaseTimer = "timer"
	// ReleaseClientGone: the client of the hold is gone.
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

// The reasons for which the kubelet does not try again for a pod. They are values of the argument "reason" of NOT_RETRIED.
const (
	// RetryTerminating: the pod is ending.
	RetryTerminating = "terminating"
	// RetryTerminated: the pod has ended.
	RetryTerminated = "terminated"
	// RetryUnknown: the kubelet does not have the pod any more, or not yet.
	RetryUnknown = "unknown"
)

// EndsByLease is the value of HoldInfo.ends_by, and of the field "endsBy" of a HOLD event, if no timer ends the hold
// before its lease.
const EndsByLease = "lease"

// NoteBreakpointFull is the value of the field "note" of a NOTE event: a breakpoint lets the pod pass, because as many
// pods are held as may be. The event's field "breakpoint" has the breakpoint's number, its field "held" the number of
// held pods.
const NoteBreakpointFull = "breakpoint-full"

// NoteLog is the value of the field "note" of a NOTE event of a breakpoint with a LogAction. The event has the breakpoint's
// number in the field "breakpoint", and the values by their names.
const NoteLog = "log"

// Values of the field "note" of NOTE events about a retry. Both events have the fields of the peer.
//
// NoteRetry stands at a turn of the pod's worker for which somebody has asked. NoteBackOffEnded stands at a step that found a
// back-off, which was ended; its field "length" has how long the back-off would have lasted, if anybody knows.
const (
	NoteRetry        = "retry"
	NoteBackOffEnded = "back-off-ended"
)

// NoteSnapshot is the value of the field "note" of a NOTE event that has the stack of the call. The event's field
// "breakpoint" has the breakpoint's number, its field "stack" the frames, which package wire reads. The event's error is
// that of the call.
const NoteSnapshot = "snapshot"
