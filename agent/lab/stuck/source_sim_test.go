//go:build sim

package stuck

import (
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// TestSourceAlone: the kubelet does not come to the pod. A step of its code takes long,
// as it does when what it calls does not answer.
func TestSourceAlone(t *testing.T) {
	slow := func(step string) func(e *Env) {
		return func(e *Env) {
			e.Must("break", "add", e.Namespace+"/web", "--step", step, "--action", "delay=100s", "--times", "1")
			e.Busybox(labtest.Sleep, nil)
		}
	}
	// Without a probe and far from the node all that can be seen is that nothing happens.
	far := map[Way]string{API: "source.noReaction"}
	alone(t, []Case{
		{Cause: "source.noReaction", Make: slow("source.api.send"), Skip: []Way{Woven}},
		{Cause: "source.waitsForStatus", Make: slow("cache.newer"), Only: far},
	})
}
