//go:build linux && amd64

package delve

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Delve makes a program stand still by sending it SIGTRAP. A thread that is to run the instruction at a breakpoint
// may get that signal first. Delve takes the signal for the end of the instruction. So the goroutine comes to the
// breakpoint once more without having run the instruction, on this thread or, if it was preempted, on another one.
// And if a request comes as the program is about to go on, Delve answers without letting it go on: all threads are
// where they were.

// twice finds the goroutines that come to a place for the second time in this way. The zero value is ready.
type twice struct {
	stops  atomic.Int64               // how often the kubelet stood still
	halted atomic.Int64               // the last stop before Delve was asked for one
	last   map[uint64]unix.PtraceRegs // the registers with which goroutines came, by g
}

const (
	// haltLasts bounds the stops until a goroutine that got a request's signal comes: others come to places first.
	haltLasts = 10
	// mostCame bounds the goroutines that are remembered.
	mostCame = 1 << 12
)

// stop counts a stop of the kubelet.
func (t *twice) stop() { t.stops.Add(1) }

// halting notes that Delve is asked to make the kubelet stand still. Any goroutine may call it.
func (t *twice) halting() { t.halted.Store(t.stops.Load()) }

// again reports whether the goroutine of a thread at a place was there before, with the same registers, when the
// kubelet was asked to stand still.
func (t *twice) again(r *unix.PtraceRegs) bool {
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
