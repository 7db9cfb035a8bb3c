//go:build linux && amd64

package delve

import (
	"testing"
	"time"

	"github.com/podstep/podstep/probes/uprobe"
)

// TestTwice: a goroutine has come to a place twice only if it has the same registers there, and the
// kubelet was asked to stand still shortly before.
func TestTwice(t *testing.T) {
	thread := 0
	at := func(g, sp uint64) uprobe.Stopped {
		thread++
		return uprobe.Stopped{TID: thread, G: g, SP: sp, At: time.Now(), Registers: [9]uint64{1, 2, 3}}
	}
	var w twice
	for i, c := range []struct {
		halt, late bool
		pc         uint64
		with       uprobe.Stopped
		want       bool
	}{
		{true, false, 100, at(1, 8), false},
		{false, false, 100, at(1, 8), true},
		{false, true, 100, at(1, 8), false}, // a loop, long after
		{true, false, 100, at(2, 8), false}, // another goroutine
		{false, false, 100, at(1, 8), true},
		{true, false, 100, at(1, 16), false}, // deeper
		{false, false, 104, at(1, 16), false},
		{false, true, 104, at(1, 16), false},
	} {
		if c.halt {
			w.halting()
		}
		if c.late {
			for range haltLasts {
				w.stop()
			}
		}
		w.stop()
		if got := w.is(c.pc, c.with); got != c.want {
			t.Errorf("%d: goroutine %d came to %d twice: %v", i, c.with.G, c.pc, got)
		}
	}
}
