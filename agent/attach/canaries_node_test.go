//go:build node

package attach_test

import (
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// TestCanaries: of the secrets of pods that fail in every way, none leaves a podstep
// beside the kubelet: not by the calls to the runtime, not by what the API server and
// the kubelet say.
func TestCanaries(t *testing.T) {
	l := shared.For(t)
	c := labtest.NewCanaries(t, l, "canary")
	a := attach(t, l, "--all-calls")
	c.Run(t, l, map[string][]string{
		"talker": {"BackOff"}, "probed": {"Unhealthy", "ProbeWarning"}, "hooked": {"FailedPostStartHook", "FailedPreStopHook"},
		"pulled": {"Failed"}, "misnamed": {"InspectFailed"},
	})
	a.End(syscall.SIGTERM)
	a.left()
	c.Silent(t, "what podstep attach says", a.Printed())
}
