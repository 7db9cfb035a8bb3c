//go:build node

package attach_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestCanaries: pods fail in every way, and no secret of theirs leaves a podstep beside the kubelet, neither by the
// calls to the runtime nor by what the API server and the kubelet report.
func TestCanaries(t *testing.T) {
	l := shared.For(t)
	c := labtest.NewCanaries(t, l, "canary")
	record := filepath.Join(t.TempDir(), "record")
	a := attach(t, l, "--all-calls", "--record-dir", record)
	c.Run(t, l, map[string][]string{
		"talker": {"BackOff"}, "probed": {"Unhealthy", "ProbeWarning"}, "hooked": {"FailedPostStartHook", "FailedPreStopHook"},
		"pulled": {"Failed"}, "misnamed": {"InspectFailed"},
	})
	a.End(syscall.SIGTERM)
	a.left()
	c.Silent(t, "what podstep attach says", a.Printed())
	c.SilentRecord(t, record)
}
