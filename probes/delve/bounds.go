//go:build linux

package delve

import (
	"fmt"
	"time"

	"github.com/podstep/podstep/probes/clock"
)

// Bounds bound how long the whole kubelet may stand still for a hold.
type Bounds struct {
	// Watchdog is the time after which systemd restarts a kubelet that it has not heard from. The kubelet reports
	// twice in that time (pkg/kubelet/watchdog). 0: nobody waits for reports.
	Watchdog time.Duration
	// Lease is until when the node's lease is good, unless the kubelet renews it. 0: that is not known.
	Lease clock.Time
}

const (
	// stopLimit is how long a hold may stop the whole kubelet. The kubelet then runs for restLimit before it is
	// stopped again. Usually a node's lease is renewed every 10 s, and is good for 40 s.
	stopLimit, restLimit = 8 * time.Second, 12 * time.Second
	// The kubelet goes on so long before its next report, or the renewal of its lease, is due. The renewal takes longer: it
	// goes to the API server.
	spareOfWatchdog, spareOfLease = 2 * time.Second, 10 * time.Second
	// stillLimit is how long the debugger process may keep the kubelet stopped for whatever it does: longer than a hold, since
	// it reads the kubelet's program when it begins, and shorter than a node's lease.
	stillLimit = 20 * time.Second
	// shortestStop is the shortest stop that is of use to a person.
	shortestStop = time.Second
)

// LongestStop returns how long the whole kubelet may be stopped from now on. If that is too short to be of use, refused
// is the reason.
func (b Bounds) LongestStop(now clock.Time) (limit time.Duration, refused string) {
	limit = stopLimit
	if b.Watchdog > 0 {
		// The last report may be half of the time old.
		if limit = min(limit, b.Watchdog/2-spareOfWatchdog); limit < shortestStop {
			return 0, fmt.Sprintf("systemd restarts a kubelet that it has not heard from for %v (WatchdogSec= of its unit)", b.Watchdog)
		}
	}
	if b.Lease != 0 {
		left := b.Lease.Sub(now)
		if limit = min(limit, left-spareOfLease); limit < shortestStop {
			return 0, fmt.Sprintf("the node's lease runs out in %v, and the node would not be Ready any more", max(left, 0).Round(time.Second))
		}
	}
	return limit, ""
}

// longestStill returns how long the debugger process may keep the kubelet stopped, before the rescuer ends that process.
// A hold is over before that.
func (b Bounds) longestStill() time.Duration {
	if b.Watchdog == 0 {
		return stillLimit
	}
	return min(stillLimit, b.Watchdog/2-spareOfWatchdog/2)
}
