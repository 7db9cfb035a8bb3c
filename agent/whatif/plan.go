package whatif

import (
	"fmt"
	"slices"
	"strings"
)

// Plan is what computePodActions decided: its podActions, with names of containers beside their places in the spec.
type Plan struct {
	KillPod       bool   `json:"killPod"`
	CreateSandbox bool   `json:"createSandbox"`
	SandboxID     string `json:"sandboxId,omitempty"`
	// Attempt is the number of the sandbox that is there, or that is to be created.
	Attempt                 uint32   `json:"attempt"`
	InitToStart             []Place  `json:"initContainersToStart,omitempty"`
	ToStart                 []Place  `json:"containersToStart,omitempty"`
	EphemeralToStart        []Place  `json:"ephemeralContainersToStart,omitempty"`
	ToKill                  []Kill   `json:"containersToKill,omitempty"`
	ToUpdate                []Update `json:"containersToUpdate,omitempty"`
	ToReset                 []Reset  `json:"containersToReset,omitempty"`
	UpdatePodResources      bool     `json:"updatePodResources,omitempty"`
	UpdatePodLevelResources bool     `json:"updatePodLevelResources,omitempty"`
	// Messages are those that the function logged.
	Messages []Remark `json:"messages,omitempty"`
}

// Place is a container of the spec.
type Place struct {
	Index int    `json:"index"`
	Name  string `json:"name"`
}

// Kill is a container to kill.
type Kill struct {
	Name    string `json:"name"`
	ID      string `json:"id"`
	Message string `json:"message"`
	// Reason is the kubelet's word for it, such as LivenessProbe; "": it has none.
	Reason string `json:"reason,omitempty"`
}

// Update is a resource of a running container to change. The numbers are bytes of memory, or thousandths of a CPU.
type Update struct {
	Resource string    `json:"resource"`
	Name     string    `json:"name"`
	ID       string    `json:"id"`
	Desired  Resources `json:"desired"`
	Current  Resources `json:"current"`
}

// Resources are those that a resize compares.
type Resources struct {
	MemoryLimit   int64 `json:"memoryLimit"`
	MemoryRequest int64 `json:"memoryRequest"`
	CPULimit      int64 `json:"cpuLimit"`
	CPURequest    int64 `json:"cpuRequest"`
}

// Reset is a container to remove because all are restarted, in the order of the list.
type Reset struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Kill bool   `json:"kill,omitempty"`
}

// Remark is a message that the kubelet's function logged.
type Remark struct {
	Message string `json:"message"`
	// Container is the one that it is about; "": the pod.
	Container string `json:"container,omitempty"`
}

// Recorded are results of the step as the event of it has them, in the catalogue's form.
type Recorded map[string]any

// recorded returns the plan in the form in which the step's event has it.
func (p *Plan) recorded() Recorded {
	return Recorded{
		"killPod": p.KillPod, "createSandbox": p.CreateSandbox,
		"initContainersToStart": places(p.InitToStart), "containersToStart": places(p.ToStart),
		"containersToKill": int64(len(p.ToKill)), "containersToResize": int64(max(p.updates("memory"), p.updates("cpu"))),
	}
}

// Differs returns the results of a recorded plan that differ from those of this one. compared is false if the recorded plan
// has none of these results.
func (p *Plan) Differs(from Recorded) (differs []string, compared bool) {
	mine := p.recorded()
	for name, v := range from {
		if own, is := mine[name]; is {
			compared = true
			if own != v {
				differs = append(differs, fmt.Sprintf("%s: %v recorded, %v computed", name, v, own))
			}
		}
	}
	slices.Sort(differs)
	return differs, compared
}

func (p *Plan) updates(resource string) (n int) {
	for _, u := range p.ToUpdate {
		if u.Resource == resource {
			n++
		}
	}
	return n
}

// places returns the places as fmt prints a list of numbers.
func places(of []Place) string {
	numbers := make([]string, len(of))
	for i, p := range of {
		numbers[i] = fmt.Sprint(p.Index)
	}
	return "[" + strings.Join(numbers, " ") + "]"
}
