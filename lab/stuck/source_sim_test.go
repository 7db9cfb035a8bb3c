//go:build sim

package stuck

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestSourceAlone: the kubelet does not come to the pod. A step of its code takes long, as it does if a call that it
// makes is not answered.
func TestSourceAlone(t *testing.T) {
	slow := func(step string) func(e *Env) {
		return func(e *Env) {
			e.Must("break", "add", e.Namespace+"/web", "--step", step, "--action", "delay=100s", "--times", "1")
			e.Busybox(labtest.Sleep, nil)
		}
	}
	// Without a probe and far from the node, `why` can only see that nothing happens.
	far := map[Way]string{API: "source.noReaction"}
	alone(t, []Case{
		{Cause: "source.noReaction", Make: slow("source.api.send"), Skip: []Way{Woven}},
		{Cause: "source.waitsForStatus", Make: slow("cache.newer"), Only: far},
	})
}
