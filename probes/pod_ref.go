package probes

// PodRef is what a probe outside of the kubelet knows of a pod in the kubelet's memory: its name and UID, not its
// object. What could not be read is empty.
type PodRef struct {
	UID, Namespace, Name string
	// Version is the resource version of its object; empty where the probe does not read it.
	Version string
}
