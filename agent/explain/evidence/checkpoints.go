package evidence

import corev1 "k8s.io/api/core/v1"

// Checkpoints are what the kubelet's files of decisions have of a pod. It reads them again when it starts.
type Checkpoints struct {
	// Allocated and Actuated are the resources by container: what the kubelet has promised, and what it last set in the runtime.
	// nil: this kubelet has no such file.
	Allocated map[string]corev1.ResourceRequirements `json:"allocated,omitempty"`
	Actuated  map[string]corev1.ResourceRequirements `json:"actuated,omitempty"`
	// CPUs are those that belong to a container alone, such as 2-3, and Memory the bytes of each type that do, by container.
	CPUs   map[string]string           `json:"cpus,omitempty"`
	Memory map[string]map[string]int64 `json:"memory,omitempty"`
	// Devices are the devices of plugins, by container and resource.
	Devices map[string]map[string][]string `json:"devices,omitempty"`
	// Claims are the names of the resource claims that are prepared for the pod.
	Claims []string `json:"claims,omitempty"`
	// HostIDs is the first of the node's user IDs as which the pod's processes run in a user namespace of their own; 0: they have
	// none.
	HostIDs uint32 `json:"hostIDs,omitempty"`
	// Read are the names of the files that were there.
	Read []string `json:"read,omitempty"`
}
