package cri

import "github.com/podstep/podstep/probes"

// inside is why a step is not seen of which there is nothing better to say.
const inside = "happens inside the kubelet; only a woven kubelet shows it"

// insideOf says for a stage where traces of its steps are seen all the same.
var insideOf = map[string]string{
	"boot":      "happens inside the kubelet while it starts; only a woven kubelet shows it",
	"admit":     "happens inside the kubelet; what it refuses shows in the pod's status, how it decides only a woven kubelet shows",
	"syncpod":   "happens inside the kubelet; its calls to the runtime are seen, what comes before them only a woven kubelet shows",
	"runtime":   "happens inside the kubelet; the calls to the runtime that come of it are seen",
	"image":     "happens inside the kubelet; PullImage and ImageStatus, which come of it, are seen",
	"pleg":      "happens inside the kubelet; the status calls that it makes are seen",
	"status":    "happens inside the kubelet; what comes of it shows in the pod's status at the API server",
	"probe":     "happens inside the kubelet; of health probes only those that run a command are seen, as ExecSync",
	"volume":    "happens inside the kubelet and goes to no runtime; only a woven kubelet shows it",
	"terminate": "happens inside the kubelet; StopContainer and StopPodSandbox, which come of it, are seen",
	"evict":     "happens inside the kubelet; an eviction shows in the pod's status at the API server",
	"resize":    "happens inside the kubelet; UpdateContainerResources and UpdatePodSandboxResources, which come of it, are seen",
	"gc":        "happens inside the kubelet; the Remove calls that come of it are seen",
	"http":      "goes to the kubelet's own server, and its streams do not pass through the runtime's socket",
}

// Unseen says of each step of the catalogue that is not seen here, why. Steps
// that are no function of the kubelet are for those to speak of who tell them.
func Unseen() map[string]string {
	c := probes.MustLoad()
	out := map[string]string{}
	for i := range c.Steps {
		s := &c.Steps[i]
		if OfStep(s.Name) != nil || s.Outside() {
			continue
		}
		why, ok := insideOf[s.Stage]
		if !ok {
			why = inside
		}
		out[s.Name] = why
	}
	return out
}
