package probes

// Witness is the source that reports a step that is no function of the kubelet.
type Witness string

const (
	// ByAPI: the API server, by the pod's object and the events about it.
	ByAPI Witness = "api"
	// ByKubelet: the kubelet's own list of its pods.
	ByKubelet Witness = "kubelet"
	// ByRuntime: the runtime. The probe that passes on the kubelet's calls asks it what it has.
	ByRuntime Witness = "cri"
	// ByCall: no source, but the kubelet's calls as they pass. It is for calls that are no steps of their own.
	ByCall Witness = "call"
)

// description returns, in words, which source reports the step.
func (w Witness) description() string {
	switch w {
	case ByKubelet:
		return "the kubelet's list of its pods reports it"
	case ByRuntime:
		return "the runtime's list of sandboxes reports it"
	case ByCall:
		return "a podstep beside the kubelet sees the call pass"
	}
	return "the API server reports it"
}
