//go:build linux && amd64

package delve

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Delve has a program stand still by sending it SIGTRAP. A thread that is to run the instruction
// at a breakpoint may get that signal first; Delve takes this for the end of the instruction, and
// the goroutine comes to the breakpoint once more without having run it, on this thread or, if it
// was preempted, on another one. And a request that comes as the program is about to go on has
// Delve answer without that: all threads are where they were.

// twice finds out which goroutines come to a place for the second time so. The zero value is ready.
type twice struct {
	stops  atomic.Int64               // how often the kubelet stood still
	halted atomic.Int64               // the last stop before Delve was asked to have it stand still
	last   map[uint64]unix.PtraceRegs // with which goroutines came, by g
}

const (
	// haltLasts is for how many stops a goroutine may be to come that got the signal of a
	// request: others come to places first.
	haltLasts = 10
	// mostCame bounds the goroutines that are remembered.
	mostCame = 1 << 12
)

// stop counts a stop of the kubelet.
func (t *twice) stop() { t.stops.Add(1) }

// halting notes that Delve is asked to have the kubelet stand still. Any goroutine may call it.
func (t *twice) halting() { t.halted.Store(t.stops.Load()) }

// is reports whether the goroutine of a thread that stands at a place did so before, with the same
// registers, when the kubelet was asked to stand still.
func (t *twice) is(r *unix.PtraceRegs) bool {
	var now unix.PtraceRegs
	to := general(&now)
	for name, v := range general(r) {
		*to[name] = *v
	}
	if t.last == nil || len(t.last) >= mostCame {
		t.last = map[uint64]unix.PtraceRegs{}
	}
	before, known := t.last[r.R14]
	t.last[r.R14] = now
	return known && before == now && t.stops.Load()-t.halted.Load() <= haltLasts
}
