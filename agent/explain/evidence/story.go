package evidence

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Story is what an agent or a trace file says of the pod: what podstep's probes saw
// inside the kubelet or of its calls.
type Story struct {
	// State is the verdict of package life, in its words. The pod has had it since Since.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Phase is the pod's phase as the kubelet last set it.
	Phase    string `json:"phase,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
	// StatusAt is when the kubelet last worked out the pod's status; zero: nobody saw that, and Phase is the API server's.
	StatusAt time.Time `json:"statusAt,omitzero"`
	// Node is the node of the kubelet; empty: not known.
	Node string `json:"node,omitempty"`
	// Turns is whether a probe sees the worker's turns: a woven kubelet's, or one that
	// looks inside. Calls is whether the calls to the runtime are seen.
	Turns bool `json:"turns"`
	Calls bool `json:"calls"`
	// Retries is whether the agent is in the kubelet, and podstep retry can end a back-off of the pod.
	Retries bool `json:"retries,omitempty"`
	// Hold is how podstep holds the pod for somebody; nil: it does not.
	Hold *Hold `json:"hold,omitempty"`

	// Open are the calls that go on for the pod now, the outermost first.
	Open []Call `json:"open,omitempty"`
	// Failed are the calls that failed last, one for each step, newest first.
	Failed []Call `json:"failed,omitempty"`
	// Done are the last calls that went well, one for each step, newest first. They show that
	// an earlier failure is over.
	Done []Call `json:"done,omitempty"`

	// Next is when the worker looks at the pod again; zero: not known.
	Next time.Time `json:"next,omitzero"`
	// Tries counts the present failure's tries in a row.
	Tries      int          `json:"tries,omitempty"`
	Containers []Restarting `json:"containers,omitempty"`
	// Behind is the pod whose image pull this one's waits for; empty: none.
	Behind string `json:"behind,omitempty"`
	// LookedAt is the pod, as NAMESPACE/NAME, at which the kubelet has looked for the longest time, while this one waits until it
	// looks at all pods again. It may be this one. Empty: none is known.
	LookedAt string `json:"lookedAt,omitempty"`
	// Look is the call by which the kubelet looks at LookedAt; nil: not known.
	Look *Call `json:"look,omitempty"`
	// Leaving are the calls by which the kubelet takes devices of volumes from the node, while this pod waits for its volumes.
	Leaving []Call `json:"leaving,omitempty"`
	// Whereabouts is where the pod is: the call that goes on for it, or what it waits for.
	Whereabouts Whereabouts `json:"whereabouts,omitzero"`
	// Object is the pod's object as far as the story shows it; nil: it does not, or a better one is known.
	Object *corev1.Pod `json:"object,omitempty"`
	// Stack is the last stack that a breakpoint kept; nil: none did.
	Stack *Stack `json:"stack,omitempty"`
	// Probes are the names of the probes that work.
	Probes []string `json:"probes,omitempty"`
	// Resent is the status that the kubelet sends to the API server again and again; nil: there is none.
	Resent *Resent `json:"resent,omitempty"`
}

// Resent is a version of the pod's status that the API server may not have taken: the kubelet has sent it more than once,
// or it has sent other versions right before, each of which took long.
type Resent struct {
	Version int64     `json:"version"`
	Tries   int       `json:"tries"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
	// Slow is how many older versions were sent just before, from SlowSince on, each of which took as long as a request that
	// the client tries again and again by itself.
	Slow      int       `json:"slow,omitempty"`
	SlowSince time.Time `json:"slowSince,omitzero"`
}

// Stack is the stack of a call, as a breakpoint kept it.
type Stack struct {
	Seq   uint64    `json:"seq"`
	Step  string    `json:"step"`
	At    time.Time `json:"at"`
	Error string    `json:"error,omitempty"`
	// Frames are the functions that were under way, the innermost first.
	Frames []wire.Frame `json:"frames"`
}

// Whereabouts is where a pod is. Package causes has the texts.
type Whereabouts struct {
	ID string `json:"id"`
	// Since is when the pod came there; zero: that is not known, or does not matter.
	Since time.Time `json:"since,omitzero"`
	// Call is the call, or the report, that shows it; nil: only the absence of events does.
	Call *Call `json:"call,omitempty"`
	// Args are further arguments of its text.
	Args map[string]string `json:"args,omitempty"`
}

// Hold is podstep's own hold of a pod.
type Hold struct {
	Seq   uint64      `json:"seq,omitempty"` // of the event that shows it; 0: that has not come yet, and all else is empty
	Step  string      `json:"step,omitempty"`
	Title probes.Text `json:"title,omitzero"`
	On    string      `json:"on,omitempty"` // enter, exit, inside
	Since time.Time   `json:"since,omitzero"`
	Ends  time.Time   `json:"ends,omitzero"` // when the agent lets the pod go by itself
	Why   string      `json:"why,omitempty"` // such as breakpoint 3
	By    *Asker      `json:"by,omitempty"`  // that asked for it; nil: not known
	// Message is what the asker left for others.
	Message string `json:"message,omitempty"`
}

// Asker is the process of a user that asked for a hold.
type Asker struct {
	UID int64 `json:"uid"`
	PID int64 `json:"pid"`
	// Account is the ServiceAccount of its token, and User the name that it gave, if it was on another machine.
	Account string `json:"account,omitempty"`
	User    string `json:"user,omitempty"`
	// You: it is the process that asks the agent now.
	You bool `json:"you,omitempty"`
}

// Call is a call of a step.
type Call struct {
	Seq    uint64            `json:"seq"` // of the event that shows it
	Step   string            `json:"step"`
	Title  string            `json:"title,omitempty"`
	Began  time.Time         `json:"began"`
	Ended  time.Time         `json:"ended,omitzero"` // zero: it goes on
	Error  string            `json:"error,omitempty"`
	Fields map[string]string `json:"fields,omitempty"` // shortened, made safe
}

// Restarting is a container that the kubelet tries to start.
type Restarting struct {
	Name     string    `json:"name"`
	Restarts int       `json:"restarts,omitempty"`
	Failed   int       `json:"failed,omitempty"`  // tries
	Until    time.Time `json:"until,omitzero"`    // when its back-off ends
	BackOff  string    `json:"backOff,omitempty"` // crash, pull; empty: none
	Up       time.Time `json:"up,omitzero"`       // when it was started that crashed again and again before; zero: it is not up, or did not crash so
}
