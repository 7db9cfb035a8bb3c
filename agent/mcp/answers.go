package mcp

import (
	"context"
	"time"
)

// Answers answers the questions of the tools. Its errors are for the assistant: what happened, to what, and what to do
// next.
type Answers interface {
	Why(ctx context.Context, q WhyQuestion) (*Answer, error)
	Pods(ctx context.Context, q PodsQuestion) (*Answer, error)
	Trace(ctx context.Context, q TraceQuestion) (*Answer, error)
	Compare(ctx context.Context, q CompareQuestion) (*Answer, error)
	Steps(ctx context.Context, q StepsQuestion) (*Answer, error)
	Doctor(ctx context.Context, q DoctorQuestion) (*Answer, error)
}

// Answer is the answer to one question, as a whole; Serve divides it into pages.
type Answer struct {
	// Evidence says from where the answer is.
	Evidence Evidence `json:"evidence"`
	// Unseen says what could not be seen, a sentence for each thing. An answer of why has a list of its own, in Result.
	Unseen []string `json:"unseen,omitempty"`
	// Result is what the command prints with -o json.
	Result any `json:"answer"`
}

// Evidence says from where an answer is.
type Evidence struct {
	// Source is the agent, the cluster, the catalogue, this machine, or the name of a recording.
	Source string `json:"source"`
	// Node and Kubelet are the name of the node and the version of its kubelet, where there is one.
	Node    string `json:"node,omitempty"`
	Kubelet string `json:"kubelet,omitempty"`
	// At is the moment of which the answer is: now, or the end of the recording; zero: each part says its own.
	At time.Time `json:"at,omitzero"`
	// Probes says what each probe sees.
	Probes []string `json:"probes,omitempty"`
}

// Paged is the part of each question by which the next page of an answer is asked for.
type Paged struct {
	Cursor string `json:"cursor,omitempty" jsonschema:"the cursor of the page before, copied unchanged, to get the next page of the same answer; leave out for a new question"`
}

func (p *Paged) paged() *Paged { return p }

// WhyQuestion asks why a pod is stuck.
type WhyQuestion struct {
	Pod       string `json:"pod,omitempty" jsonschema:"the pod as NAME or NAMESPACE/NAME; or another object as KIND/NAME: an owner such as deployment/web, node/NAME, namespace/NAME, pvc/NAME, service/NAME; leave out for every pod that is not well"`
	Namespace string `json:"namespace,omitempty" jsonschema:"the namespace of the pod or owner, or the only namespace to look through"`
	Recording string `json:"recording,omitempty" jsonschema:"the name of a recording to ask, as the server's instructions list them"`
	Paged
}

// PodsQuestion asks what pods are doing.
type PodsQuestion struct {
	Pods      string `json:"pods,omitempty" jsonschema:"only pods of this NAME, NAMESPACE/NAME or glob such as web-*"`
	Namespace string `json:"namespace,omitempty" jsonschema:"only pods of this namespace"`
	Recording string `json:"recording,omitempty" jsonschema:"the name of a recording to ask, as the server's instructions list them"`
	Paged
}

// TraceQuestion asks for the events of pods.
type TraceQuestion struct {
	Pods      string   `json:"pods,omitempty" jsonschema:"only events of pods of this NAME, NAMESPACE/NAME or glob"`
	Namespace string   `json:"namespace,omitempty" jsonschema:"only events of pods of this namespace"`
	Steps     []string `json:"steps,omitempty" jsonschema:"only events at these steps: names or globs such as cri.*, or stage:NAME"`
	Filter    string   `json:"filter,omitempty" jsonschema:"only events that match all terms of this filter, such as: err (with an error), slow>1s (took longer), kind=exit, step~cri.*, stage=image, sync=3, span=812, error~timeout, field.image~busybox; -TERM is not, and TERM or TERM one of both"`
	After     uint64   `json:"after,omitempty" jsonschema:"only events with a number (seq) greater than this"`
	Last      int      `json:"last,omitempty" jsonschema:"only the last so many of the events that are chosen, 1 to 1000"`
	Recording string   `json:"recording,omitempty" jsonschema:"the name of a recording to ask, as the server's instructions list them"`
	Paged
}

// CompareQuestion asks how two pods differ. A and B are needed, but not to go on with a cursor.
type CompareQuestion struct {
	A          string `json:"a,omitempty" jsonschema:"one pod, as NAME or NAMESPACE/NAME"`
	B          string `json:"b,omitempty" jsonschema:"the other pod, as NAME or NAMESPACE/NAME"`
	Namespace  string `json:"namespace,omitempty" jsonschema:"the namespace of both pods"`
	Part       string `json:"part,omitempty" jsonschema:"the part of their stories to compare: creation (the default), termination or all"`
	Recording  string `json:"recording,omitempty" jsonschema:"the name of a recording to look for the pods in, as the server's instructions list them"`
	RecordingB string `json:"recordingB,omitempty" jsonschema:"the name of a second recording, in which pod b is looked for"`
	Paged
}

// StepsQuestion asks for entries of the catalogue.
type StepsQuestion struct {
	Step      string `json:"step,omitempty" jsonschema:"only steps of this name or glob, such as sync.volumes or cri.*, or stage:NAME"`
	Stage     string `json:"stage,omitempty" jsonschema:"only steps of this stage"`
	Tier      int    `json:"tier,omitempty" jsonschema:"only steps of tier 1 (part of every pod's story) or 2 (for a closer look)"`
	Seen      bool   `json:"seen,omitempty" jsonschema:"also what each probe of the agent, or of the recording, sees of each step, and why not more"`
	Recording string `json:"recording,omitempty" jsonschema:"with seen: the name of a recording to ask, as the server's instructions list them"`
	Paged
}

// DoctorQuestion asks what podstep can do on this machine.
type DoctorQuestion struct {
	Paged
}
