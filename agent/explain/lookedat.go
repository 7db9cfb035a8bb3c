package explain

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
)

// Looks are the steps by which the kubelet looks at one pod after the other: PLEG's calls to the runtime. Workers that wait for
// a newer look wait for all of them.
var Looks = []string{"cri.PodSandboxStatus", "cri.ContainerStatus"}

// stepNewer is the step in which a pod's worker waits until the kubelet has looked at all pods again.
const stepNewer = "cache.newer"

// looksLong is how long a worker waits at least before it is worth a search through all pods: usually a look takes a second.
const looksLong = 5 * time.Second

// AwaitsLook reports whether a pod's worker has waited for long until the kubelet has looked at all pods again.
func AwaitsLook(s *evidence.Story, now time.Time) bool {
	return slices.ContainsFunc(s.Open, func(k evidence.Call) bool { return k.Step == stepNewer && now.Sub(k.Began) >= looksLong })
}

// LookedAt returns the pod, as NAMESPACE/NAME, at which the kubelet has looked for the longest time at a position and still looks,
// beside the pod's own worker; empty: there is none. It may be the pod that waits.
func LookedAt(h *history.History, at int) (name string) {
	var since int64
	for i := 1; i < h.Pods(); i++ {
		ref := h.Back(i, at, func(_ int, sp *history.Span) bool {
			return !sp.Worker && !sp.Over(at) && slices.Contains(Looks, h.Step(sp.Step).Name)
		})
		if sp := h.Span(ref); sp != nil && (name == "" || sp.Start < since) {
			name, since = h.Pod(i).Entity.NamespacedName(), sp.Start
		}
	}
	return name
}
