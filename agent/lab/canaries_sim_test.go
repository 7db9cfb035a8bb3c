//go:build sim

package lab_test

import (
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// TestSimCanaries: of the secrets of pods that fail in every way, none leaves the
// agent of a simulated node. Its containers do not understand command lines with
// words behind a script: that they print their secrets is left to the real node.
func TestSimCanaries(t *testing.T) {
	l := labtest.StartSim(t)
	c := labtest.NewCanaries(t, l, "canary")
	c.Run(t, l, map[string][]string{
		"talker": {"Started"}, "probed": {"Unhealthy"}, "hooked": {"Started"},
		"pulled": {"Failed"}, "misnamed": {"InspectFailed"},
	})
}
