//go:build sim

package lab_test

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestSimCanaries: pods fail in every way, and none of their secrets leaves the agent of a simulated node. The node's
// containers do not understand command lines with words behind a script. So only the real node has pods that print
// their secrets.
func TestSimCanaries(t *testing.T) {
	t.Parallel() // its node mostly waits
	l := labtest.StartSim(t, "--kubelet-v", "4")
	c := labtest.NewCanaries(t, l, "canary")
	c.Run(t, l, map[string][]string{
		"talker": {"Started"}, "probed": {"Unhealthy"}, "hooked": {"Started"},
		"pulled": {"Failed"}, "misnamed": {"InspectFailed"},
	})
}
