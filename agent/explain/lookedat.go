package explain

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
)

// Looks are the steps by which PLEG looks at one pod after the other: at a pod that somebody asked for, and at those in which its
// list has shown a change. Workers that wait for a newer look wait for all of them. The calls to the runtime below them are no
// sign: the kubelet makes the same ones before it rotates a log.
var Looks = []string{"pleg.relistpod", "pleg.cache"}

// stepNewer is the step in which a pod's worker waits until the kubelet has looked at all pods again.
const stepNewer = "cache.newer"

// looksLong is how long a pod waits at least before it is worth a search through all pods: usually a look takes a second.
const looksLong = 5 * time.Second

// AwaitsLook reports whether a pod has waited for long until the kubelet has looked at all pods again: its worker waits for that,
// or its worker has made its containers and goes on when the kubelet sees them.
func AwaitsLook(s *evidence.Story, now time.Time) bool {
	if s.Whereabouts.ID == causes.WaitsForContainers && now.Sub(s.Since) >= looksLong {
		return true
	}
	return slices.ContainsFunc(s.Open, func(k evidence.Call) bool { return k.Step == stepNewer && now.Sub(k.Began) >= looksLong })
}

// LookedAt returns the pod, as NAMESPACE/NAME, at which the kubelet has looked for the longest time at a position and still looks,
// and the call of that; empty: there is none. It may be the pod that waits.
func LookedAt(h *history.History, at int) (name string, look *evidence.Call) {
	for i := 1; i < h.Pods(); i++ {
		ref := h.Back(i, at, func(_ int, sp *history.Span) bool {
			return !sp.Over(at) && slices.Contains(Looks, h.Step(sp.Step).Name)
		})
		call := h.Call(ref, at)
		if call.Step == nil {
			continue
		}
		if of := callOf(h, &call); look == nil || of.Began.Before(look.Began) {
			name, look = h.Pod(i).Entity.NamespacedName(), &of
		}
	}
	return name, look
}
