//go:build sim

package stuck

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestPodstep: podstep itself keeps a pod from going on: by a hold, by a delay, and while somebody deletes the pod.
func TestPodstep(t *testing.T) {
	held := func(step, action string) func(*Env) {
		return func(e *Env) {
			e.Must("break", "add", e.Namespace+"/web", "--step", step, "--action", action, "--times", "1")
			e.Busybox(labtest.Sleep, nil)
		}
	}
	// Without an agent to ask, `why` sees the hold's consequences alone.
	far := []Way{API, Near, Attach}
	inLab(t, []Case{
		{Cause: "podstep.held", Make: held("cri.CreateContainer", "hold"), Skip: far},
		{Cause: "podstep.held", Name: "delay", Make: held("cache.newer", "delay=100s"), Skip: far},
		{Cause: "podstep.heldDeleting", Skip: far, Meanwhile: []string{"podstep.held"}, Make: func(e *Env) {
			held("cri.CreateContainer", "hold")(e)
			e.UntilEvent("web", "hold", func(ev probes.Event) bool { return ev.Kind == probes.Held && ev.Pod.Namespace == e.Namespace })
			e.DeletePod(nil)
		}},
	})
}
