package explain

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// Looks are the steps by which the kubelet looks at one pod after the other: PLEG's calls to the runtime. Workers that wait for
// a newer look wait for all of them.
var Looks = []string{"cri.PodSandboxStatus", "cri.ContainerStatus"}

// StepNewer is the step in which a pod's worker waits until the kubelet has looked at all pods again.
const StepNewer = "cache.newer"

// looksLong is how long a worker waits at least before it is worth a search through all pods: usually a look takes a second.
const looksLong = 5 * time.Second

// lookedAt returns the other pod, as NAMESPACE/NAME, at which the kubelet looks while this one's worker waits for a newer look;
// empty: the worker does not wait for that, or no such pod is known.
func (r *reader) lookedAt() string {
	waits := r.h.Span(r.p.At)
	if waits == nil || waits.Step != r.h.StepNamed(StepNewer) || history.Since(waits.Start, r.now) < looksLong {
		return ""
	}
	if i := LongestLook(r.h, r.pod, r.at); i != 0 {
		return r.h.Pod(i).Entity.NamespacedName()
	}
	return ""
}

// LongestLook returns the pod, other than one, at which the kubelet has looked for the longest time at a position and still looks,
// beside the pod's own worker; 0: there is none.
func LongestLook(h *history.History, but, at int) (pod int) {
	var since int64
	for i := 1; i < h.Pods(); i++ {
		if i == but {
			continue
		}
		ref := h.Back(i, at, func(_ int, sp *history.Span) bool {
			return !sp.Worker && !sp.Over(at) && slices.Contains(Looks, h.Step(sp.Step).Name)
		})
		if sp := h.Span(ref); sp != nil && (pod == 0 || sp.Start < since) {
			pod, since = i, sp.Start
		}
	}
	return pod
}
