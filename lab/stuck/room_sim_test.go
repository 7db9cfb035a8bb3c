//go:build sim

package stuck

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
)

// roomEnv names how long, at most, a case waits until the processors have room for its node. Without it no case waits.
//
// A node that waits for its pods costs a twelfth of a processor, and all that runs on a full machine costs up to half as much
// again. These cases can run many at a time, other tests only one after the other. So CI lets these use what others leave.
const roomEnv = "PODSTEP_ROOM"

// There is room for a node if this share of the processors' time is idle, as long as the window.
const (
	room       = 0.15
	roomWindow = 2 * time.Second
)

// starting is held while a node starts: the next case sees what this one takes.
var starting sync.Mutex

// startOwn starts a node for one case when there is a place for it, and the processors have room.
func startOwn(tb testing.TB, flags ...string) *labtest.Lab {
	tb.Helper()
	onOwn.claim(tb)
	var patience time.Duration
	if text := os.Getenv(roomEnv); text != "" {
		var err error
		if patience, err = time.ParseDuration(text); err != nil {
			tb.Fatalf("read %s: %v", roomEnv, err)
		}
	}
	deadline := time.Now().Add(patience)
	starting.Lock()
	defer starting.Unlock()
	for time.Now().Before(deadline) && idleShare(tb, roomWindow) < room {
	}
	return labtest.StartSim(tb, flags...)
}

// idleShare returns the share of the processors' time that is idle in the next window, 0 to 1. What is nice leaves its time to
// others, so that counts as idle.
func idleShare(tb testing.TB, window time.Duration) float64 {
	tb.Helper()
	idle, all := processorTimes(tb)
	time.Sleep(window)
	idleNow, allNow := processorTimes(tb)
	return float64(idleNow-idle) / float64(max(1, allNow-all))
}

// processorTimes reads for how long the processors have been idle, and how long that they have been there, in ticks (proc_stat(5)).
func processorTimes(tb testing.TB) (idle, all uint64) {
	tb.Helper()
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		tb.Fatal(err)
	}
	line, _, _ := strings.Cut(string(b), "\n")
	var user, nice, system, idling, waiting, irq, softirq, steal uint64
	if _, err := fmt.Sscanf(line, "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idling, &waiting, &irq, &softirq, &steal); err != nil {
		tb.Fatalf("read /proc/stat: %q: %v", line, err)
	}
	idle = nice + idling + waiting
	return idle, idle + user + system + irq + softirq + steal
}
