//go:build node

package main

import (
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestCanaries: pods fail in every way, and none of their secrets leaves the agent in a woven kubelet.
func TestCanaries(t *testing.T) {
	l := shared.For(t)
	c := labtest.NewCanaries(t, l, "canary")
	c.Run(t, l, map[string][]string{
		"talker": {"BackOff"}, "probed": {"Unhealthy", "ProbeWarning"}, "hooked": {"FailedPostStartHook", "FailedPreStopHook"},
		"pulled": {"Failed"}, "misnamed": {"InspectFailed"},
	})
}
