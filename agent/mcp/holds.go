package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Holds holds pods for an assistant, if the person who starts the server allows it. Answers has no way to it.
type Holds interface {
	Hold(ctx context.Context, q HoldQuestion) (*Answer, error)
	Step(ctx context.Context, q StepQuestion) (*Answer, error)
	Continue(ctx context.Context, q ContinueQuestion) (*Answer, error)
}

// The bounds of a hold that an assistant asks for.
const (
	// MaxLease is how long it lasts at most. An assistant may be given up while a pod is held.
	MaxLease = 30 * time.Second
	// HoldWithin is how long the pod may take to come to a step where it can be held.
	HoldWithin = 20 * time.Second
)

// HoldQuestion asks to hold a pod.
type HoldQuestion struct {
	Pod       string `json:"pod,omitempty" jsonschema:"the pod, as NAME or NAMESPACE/NAME"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace of the pod"`
	Lease     int    `json:"lease,omitempty" jsonschema:"how many seconds the hold lasts at most, 1 to 30; leave out for 30"`
	Paged
}

// StepQuestion asks to let a pod that is held go on to the next place.
type StepQuestion struct {
	Pod       string `json:"pod,omitempty" jsonschema:"the pod, as NAME or NAMESPACE/NAME"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace of the pod"`
	To        string `json:"to,omitempty" jsonschema:"how far: over (not into the steps inside this one), out (to the end of the step around this one), stage, cri (the next call of the runtime), sync (the next turn); or the name or glob of a step; leave out for the next step that allows it"`
	Lease     int    `json:"lease,omitempty" jsonschema:"how many seconds the new hold lasts at most, 1 to 30; leave out for 30"`
	Paged
}

// ContinueQuestion asks to let a pod that is held go.
type ContinueQuestion struct {
	Pod       string `json:"pod,omitempty" jsonschema:"the pod, as NAME or NAMESPACE/NAME"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace of the pod"`
	Paged
}

func addHolds(to *sdk.Server, s *server, h Holds) {
	add(to, s, toolAbout{
		name: "hold", title: "Hold a pod at its next step", changes: true,
		text: `Stops one pod in the kubelet at its next step that allows it, and says where: the pod does not start, change or end meanwhile. It goes on by itself after the lease, before a timer of the kubelet runs out, and when this server ends. If the answer has "node": true, all pods of the node wait. Ask the person before you hold a pod that serves somebody.`,
	}, h.Hold)
	add(to, s, toolAbout{
		name: "step", title: "Let a held pod go on to the next place", changes: true,
		text: `Lets a pod that this server holds go on, holds it again at the next place, and says where, with the values there.`,
	}, h.Step)
	add(to, s, toolAbout{
		name: "continue", title: "Let a held pod go", changes: true,
		text: `Lets a pod go that this server holds. A pod that somebody else holds stays held.`,
	}, h.Continue)
}
