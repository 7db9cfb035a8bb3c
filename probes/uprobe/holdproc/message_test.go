//go:build linux && (amd64 || arm64)

package holdproc

import (
	"testing"

	"github.com/podstep/podstep/probes/clock/clocktest"
)

// TestTimesOfMessages: no message has a time that would change if the wall clock were set.
func TestTimesOfMessages(t *testing.T) {
	if all := clocktest.WallTimes(message{}); len(all) > 0 {
		t.Errorf("these are times of the wall clock: %v", all)
	}
}
