//go:build node && (amd64 || arm64)

package holdproc

import (
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/toy"
)

// TestHold: a goroutine is parked at a place, and all others go on, the garbage collector
// too. Then it is let go, and goes on as if nothing had been.
func TestHold(t *testing.T) {
	for _, version := range append([]string{""}, toy.Versions...) {
		t.Run("with "+version, func(t *testing.T) {
			y, g, c, place := setup(t, version, toy.Options{Workers: 4, Garbage: 2, Pace: time.Millisecond})
			c.arm(place, time.Hour)
			g.want(2, true)
			h := next(t, c.held, "hold")
			t.Logf("%+v", h)
			if h.Functions[0] != "main.step" || !slices.Contains(h.Functions, "main.podWorkerLoop") || h.Goroutine == 0 || h.Goroutine > 10000 {
				t.Errorf("held is %+v", h)
			}
			before := y.Counts()
			now := y.Moved(before, y.All(2)...)
			for now.GCs < before.GCs+5 {
				now = y.Moved(now, y.All(2)...)
			}
			if now.Calls[2] != before.Calls[2] {
				t.Error("the held goroutine went on")
			}
			if w := parked(t, y.PID); w.Hold != h.Hold || w.TID != h.TID {
				t.Errorf("parked is %+v", w)
			}
			c.LetGo(h.Hold)
			if e := next(t, c.ended, "end"); e.Hold != h.Hold || e.How != inside.LetGo {
				t.Errorf("ended is %+v", e)
			}
			y.Moved(now, y.All()...)
			stats, err := c.Disarm(t.Context())
			t.Logf("%+v %v, goroutines %d and %d", stats, err, before.Goroutines, now.Goroutines)
		})
	}
}
