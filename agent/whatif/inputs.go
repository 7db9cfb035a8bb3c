// Package whatif computes what the kubelet would have planned for a pod if something about it were different. It has the
// inputs of a plan, the language in which a person changes them, and the comparison of plans. It does not compute plans:
// package lab/whatif does, by the kubelet's own function.
package whatif

import (
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Step is the catalogue's step that makes a plan, and Field that result of it which has the plan's inputs.
const (
	Step  = "rt.compute"
	Field = "inputs"
)

// Inputs are what the kubelet's computePodActions reads, and nothing else of a pod: see docs/adr/0037.
type Inputs struct {
	Metadata Metadata `json:"metadata"`
	// Spec is the pod's, as far as it is read. A health probe in it is empty: only its presence is read.
	Spec     v1.PodSpec `json:"spec"`
	Status   Status     `json:"status"`
	Actuated Actuated   `json:"actuated"`
	// RestartAllContainers: a container ended, by whose rules all containers are restarted.
	RestartAllContainers bool `json:"restartAllContainers,omitempty"`
	// Gates are the feature gates that are read. One that is not there is on.
	Gates map[string]bool `json:"gates,omitempty"`
}

// Metadata are the pod's. The event, not the recorded inputs, has the pod's names.
type Metadata struct {
	DeletionTimestamp *metav1.Time `json:"deletionTimestamp,omitempty"`
}

// Status is what the runtime reported of the pod before the plan was made, and the results of its health probes.
type Status struct {
	// Sandboxes are all of the pod, the newest first.
	Sandboxes []Sandbox `json:"sandboxes,omitempty"`
	// Containers are those of all sandboxes. Of several with one name the first is the newest.
	Containers []Container `json:"containers,omitempty"`
}

// Sandbox is a sandbox as the runtime reported it.
type Sandbox struct {
	ID      string       `json:"id,omitempty"`
	State   SandboxState `json:"state,omitempty"`
	Attempt uint32       `json:"attempt"`
	// Network is the mode of its network namespace.
	Network Network `json:"network,omitempty"`
	// IP is its address; nil: the runtime reported no network.
	IP *string `json:"ip,omitempty"`
}

// Container is a container as the runtime reported it.
type Container struct {
	Name     string         `json:"name"`
	ID       string         `json:"id,omitempty"`
	State    ContainerState `json:"state,omitempty"`
	ExitCode int            `json:"exitCode"`
	Reason   string         `json:"reason,omitempty"`
	// Changed: it was made from another definition than the spec has. The hash of a definition stays in the kubelet.
	Changed bool `json:"changed,omitempty"`
	// Liveness and Startup are the last results of its health probes; "": none is known.
	Liveness ProbeResult `json:"liveness,omitempty"`
	Startup  ProbeResult `json:"startup,omitempty"`
}

// Actuated are the resources that the kubelet gave to running containers, for a resize.
type Actuated struct {
	Containers map[string]v1.ResourceRequirements `json:"containers,omitempty"`
	Pod        *v1.ResourceRequirements           `json:"pod,omitempty"`
}

// The enumerations of Inputs.
type (
	SandboxState   string
	Network        string
	ContainerState string
	ProbeResult    string
)

// States of a sandbox, modes of its network, states of a container, and results of health probes.
const (
	SandboxReady    SandboxState = "READY"
	SandboxNotReady SandboxState = "NOTREADY"

	NetworkPod  Network = "POD"
	NetworkNode Network = "NODE"

	Created ContainerState = "created"
	Running ContainerState = "running"
	Exited  ContainerState = "exited"
	Unknown ContainerState = "unknown"

	ProbeSuccess ProbeResult = "Success"
	ProbeFailure ProbeResult = "Failure"
	ProbeUnknown ProbeResult = "Unknown"
)

// ParseInputs reads inputs as the recording has them.
func ParseInputs(text []byte) (*Inputs, error) {
	var in Inputs
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	return &in, nil
}

// Clone returns a copy that shares nothing with in.
func (in *Inputs) Clone() (*Inputs, error) {
	text, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write inputs: %w", err)
	}
	return ParseInputs(text)
}

// Check reports a value that no kubelet could have read.
func (in *Inputs) Check() error {
	var c checker
	one(&c, "spec.restartPolicy", in.Spec.RestartPolicy, v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	c.policies("spec.initContainers", in.Spec.InitContainers)
	c.policies("spec.containers", in.Spec.Containers)
	if len(in.Spec.Containers) == 0 && c.err == nil {
		c.err = fmt.Errorf("spec.containers is empty; a pod has at least one container")
	}
	for i, s := range in.Status.Sandboxes {
		at := fmt.Sprintf("status.sandboxes[%d]", i)
		one(&c, at+".state", s.State, SandboxReady, SandboxNotReady)
		one(&c, at+".network", s.Network, NetworkPod, NetworkNode, "CONTAINER", "TARGET")
	}
	for i, s := range in.Status.Containers {
		at := fmt.Sprintf("status.containers[%d]", i)
		one(&c, at+".state", s.State, Created, Running, Exited, Unknown)
		one(&c, at+".liveness", s.Liveness, "", ProbeSuccess, ProbeFailure, ProbeUnknown)
		one(&c, at+".startup", s.Startup, "", ProbeSuccess, ProbeFailure, ProbeUnknown)
	}
	return c.err
}

type checker struct{ err error }

// policies checks the restart policies of containers.
func (c *checker) policies(list string, of []v1.Container) {
	for i := range of {
		if p := of[i].RestartPolicy; p != nil {
			one(c, fmt.Sprintf("%s[%d].restartPolicy", list, i), *p, v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever)
		}
	}
}

// one checks that the value at a path is one of those that exist.
func one[T ~string](c *checker, path string, value T, of ...T) {
	if c.err == nil && !slices.Contains(of, value) {
		c.err = fmt.Errorf("%s is %q; it can be %s", path, string(value), alternatives(of))
	}
}

func alternatives[T ~string](of []T) string {
	text := ""
	for i, v := range of {
		switch {
		case i == 0:
		case i == len(of)-1:
			text += " or "
		default:
			text += ", "
		}
		if v == "" {
			text += "nothing"
		} else {
			text += string(v)
		}
	}
	return text
}
