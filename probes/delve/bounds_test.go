//go:build linux

package delve

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/clock"
)

// TestLongestStop: the kubelet stands still for no longer than its watchdog and the node's lease allow.
func TestLongestStop(t *testing.T) {
	now := clock.Now()
	for _, x := range []struct {
		name    string
		bounds  Bounds
		limit   time.Duration
		refused string
	}{
		{"nothing waits for the kubelet", Bounds{}, stopLimit, ""},
		{"a long watchdog, a fresh lease", Bounds{Watchdog: time.Minute, Lease: now.Add(40 * time.Second)}, stopLimit, ""},
		{"a short watchdog", Bounds{Watchdog: 10 * time.Second}, 3 * time.Second, ""},
		{"a shorter one", Bounds{Watchdog: 5 * time.Second}, 0, "systemd restarts"},
		{"a lease before its renewal", Bounds{Lease: now.Add(30 * time.Second)}, stopLimit, ""},
		{"a late lease", Bounds{Lease: now.Add(14 * time.Second)}, 4 * time.Second, ""},
		{"a lease that nobody renews", Bounds{Lease: now.Add(10 * time.Second)}, 0, "the node's lease runs out in 10s"},
		{"a lease that has run out", Bounds{Lease: now.Add(-time.Hour)}, 0, "the node's lease runs out in 0s"},
	} {
		limit, refused := x.bounds.LongestStop(now)
		if limit != x.limit || !strings.Contains(refused, x.refused) || (refused == "") != (x.refused == "") {
			t.Errorf("%s: the limit is %v, refused: %q", x.name, limit, refused)
		}
		if x.bounds.Watchdog > 0 && x.bounds.Watchdog/2+limit >= x.bounds.Watchdog {
			t.Errorf("%s: a report may come after %v", x.name, x.bounds.Watchdog/2+limit)
		}
		if still := x.bounds.longestStill(); refused == "" && (still <= limit || x.bounds.Watchdog > 0 && x.bounds.Watchdog/2+still >= x.bounds.Watchdog) {
			t.Errorf("%s: the kubelet may be kept stopped for %v, beside holds of %v", x.name, still, limit)
		}
	}
}
