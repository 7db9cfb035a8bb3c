//go:build node && (amd64 || arm64)

package holdproc

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes/inside/park"
)

// TestArmedAgain: places are armed again right after the last hold of an earlier arming has ended. The thread that
// traced the program then may still be ending; all threads of the program are traced all the same.
func TestArmedAgain(t *testing.T) {
	y, g, c, place := setup(t, "", calm)
	for range labtest.Times(t, "PODSTEP_HOLDS", 100) {
		h := c.hold(g, place, time.Hour)
		if _, err := c.Disarm(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.LetGo(h.Hold)
		next(t, c.ended, "end")
		h = c.hold(g, place, time.Hour)
		tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(y.PID), "task", "*"))
		if err != nil || len(tasks) == 0 {
			t.Fatal(err)
		}
		for _, task := range tasks {
			tid, _ := strconv.Atoi(filepath.Base(task))
			if by := park.TracerOf(y.PID, tid); by != c.PID() {
				if _, err := os.Stat(task); err == nil {
					t.Errorf("thread %d is traced by %d", tid, by)
				}
			}
		}
		c.LetGo(h.Hold)
		next(t, c.ended, "end")
	}
	y.Moved(y.Counts(), y.All()...)
}
