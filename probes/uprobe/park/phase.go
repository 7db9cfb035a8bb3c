//go:build linux && amd64

package park

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Phase is how far a thread is with a wait.
type Phase int

const (
	// Ended is a wait from which the goroutine has gone on.
	Ended Phase = iota
	// Waiting is one that a stop has interrupted: by itself the thread would wait again.
	Waiting
	// Between is a thread that is about to wait or to go on, or that handles a signal
	// meanwhile. It soon does one or the other.
	Between
)

// Phase finds out how far the thread of a parked goroutine, whose g is at an address, is with its
// wait. The thread is in a ptrace stop with these registers.
func (p *Program) Phase(w *Wait, g uint64, regs *unix.PtraceRegs) Phase {
	if w.Interrupted(regs) {
		return Waiting
	}
	if called, err := p.Waiting(g); err == nil && called.isParked() {
		return Between // in the system call: it handles a signal
	}
	now, err := p.Goroutine(regs)
	if err != nil || now.G == g && now.isParked() {
		return Between
	}
	return Ended
}

// DebugCall is the function of the runtime from which a parked goroutine seems to wait.
const DebugCall = "runtime.debugCallV2"

// isParked reports whether the frames of a wait are on the goroutine's stack.
func (g *Goroutine) isParked() bool {
	return slices.ContainsFunc(g.Frames, func(f Frame) bool { return f.Function == DebugCall })
}
