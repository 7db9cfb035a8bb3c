//go:build linux && amd64

package delve

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestTwice: a goroutine has come to a place twice only if it has the same registers there, and the
// kubelet was asked to stand still shortly before.
func TestTwice(t *testing.T) {
	syscall := uint64(0)
	at := func(pc, g, sp uint64) *unix.PtraceRegs {
		syscall++ // means nothing
		return &unix.PtraceRegs{Rip: pc, R14: g, Rsp: sp, R13: 1, Orig_rax: syscall}
	}
	var w twice
	for i, c := range []struct {
		halt, late bool
		with       *unix.PtraceRegs
		want       bool
	}{
		{true, false, at(100, 1, 8), false},
		{false, false, at(100, 1, 8), true},
		{false, true, at(100, 1, 8), false}, // a loop, long after
		{true, false, at(100, 2, 8), false}, // another goroutine
		{false, false, at(100, 1, 8), true},
		{true, false, at(100, 1, 16), false}, // deeper
		{false, false, at(104, 1, 16), false},
		{false, true, at(104, 1, 16), false},
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
		if got := w.again(c.with); got != c.want {
			t.Errorf("%d: goroutine %d came to %d twice: %v", i, c.with.R14, c.with.Rip, got)
		}
	}
}
