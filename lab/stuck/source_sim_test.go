//go:build sim

package stuck

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestSourceAlone: the kubelet does not come to the pod. A step of its code takes long, as it does if a call that it
// makes is not answered.
func TestSourceAlone(t *testing.T) {
	slow := func(e *Env) {
		e.Must("break", "add", e.Namespace+"/web", "--step", "source.api.send", "--action", "delay=100s", "--times", "1")
		e.Busybox(labtest.Sleep, nil)
	}
	// A far look can only see that nothing happens.
	alone(t, []Case{
		{Cause: "source.noReaction", Make: slow, Skip: []Way{Woven}},
	})
}
