package explain

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
)

// looks are the steps by which PLEG looks at one pod after the other: at a pod that somebody asked for, and at those in which its
// list has shown a change. Workers that wait for a newer look wait for all of them. The calls to the runtime below them are no
// sign: the kubelet makes the same ones before it rotates a log.
var looks = []string{"pleg.relistpod", "pleg.cache"}

// volumeLooks are the steps by which the volume manager notes the volumes of one pod after the other, for which it asks the API
// server for claims, and by which it takes the devices of others from the node.
var volumeLooks = []string{"vol.process", "vol.spec", stepDevice}

const (
	// stepDevice is the step in which the kubelet takes the device of a volume from the node. No pod is there that it is about.
	stepDevice = "vol.undevice"
	// stepNewer is the step in which a pod's worker waits until the kubelet has looked at all pods again.
	stepNewer = "cache.newer"
	// stepVolumes and stepUnmount are the steps in which a pod's worker waits until the pod's volumes are mounted, and until they are
	// not any more.
	stepVolumes, stepUnmount = "sync.volumes", "term.unmount"
)

// looksLong is how long a pod waits at least before it is worth a search through all pods: usually a look takes a second.
const looksLong = 5 * time.Second

// AwaitedLooks returns the steps by which the kubelet looks at one pod after the other, if this pod has waited for such a look for
// long. nil: it has not. Its worker waits for a look of PLEG or, when the worker has made the containers, goes on when PLEG sees
// them; or it waits for the pod's volumes, which are noted before they are mounted or unmounted.
func AwaitedLooks(s *evidence.Story, now time.Time) []string {
	waits := func(step string) bool {
		return slices.ContainsFunc(s.Open, func(k evidence.Call) bool { return k.Step == step && now.Sub(k.Began) >= looksLong })
	}
	switch {
	case s.Whereabouts.ID == causes.WaitsForContainers && now.Sub(s.Since) >= looksLong, waits(stepNewer):
		return looks
	case waits(stepVolumes), waits(stepUnmount):
		return volumeLooks
	}
	return nil
}

// SeeOthers notes what the kubelet does about other pods and about the node, if this pod has waited for long for one of these
// looks.
func SeeOthers(s *evidence.Story, h *history.History, at int, looks []string) {
	s.LookedAt, s.Look = LookedAt(h, at, looks)
	if slices.Contains(looks, stepDevice) {
		s.Leaving = leaving(h, at)
	}
}

// leaving returns the calls that take devices of volumes from the node at a position.
func leaving(h *history.History, at int) (out []evidence.Call) {
	const node = 0 // its place among the pods
	h.Back(node, at, func(ref int, sp *history.Span) bool {
		if !sp.Over(at) && h.Step(sp.Step).Name == stepDevice {
			call := h.Call(ref, at)
			out = append(out, callOf(h, &call))
		}
		return len(out) == maxCalls
	})
	return out
}

// LookedAt returns the pod, as NAMESPACE/NAME, at which the kubelet has looked for the longest time at a position and still looks,
// by one of these steps, and the call of that; empty: there is none. It may be the pod that waits.
func LookedAt(h *history.History, at int, looks []string) (name string, look *evidence.Call) {
	for i := 1; i < h.Pods(); i++ {
		ref := h.Back(i, at, func(_ int, sp *history.Span) bool {
			return !sp.Over(at) && slices.Contains(looks, h.Step(sp.Step).Name)
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
