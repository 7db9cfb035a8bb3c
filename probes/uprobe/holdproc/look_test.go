//go:build linux && (amd64 || arm64)

package holdproc

import (
	"testing"
	"time"

	"github.com/podstep/podstep/probes/inside"
)

// TestBegins: a thread that has not come to its wait is on its way there until the lease is over, however long that
// takes.
func TestBegins(t *testing.T) {
	h := hold{starts: time.Hour}
	h.wait.Until = h.starts + 10*time.Second
	for after, want := range map[time.Duration]bool{0: true, time.Second: true, 6 * time.Second: true, 9 * time.Second: true, 10 * time.Second: false} {
		if h.begins(h.starts+after) != want {
			t.Errorf("after %v it begins: %v", after, !want)
		}
	}
	if h.waits = true; h.begins(h.starts) {
		t.Error("a thread that waits is on its way to its wait")
	}
	if how := h.howEnded(h.wait.Until); how != inside.LeaseOver {
		t.Errorf("at the end of its lease it ended as %q", how)
	}
}
