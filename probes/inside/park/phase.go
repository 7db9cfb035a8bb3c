//go:build linux && (amd64 || arm64)

package park

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Phase is how far a thread is with a wait.
type Phase int

const (
	// Ended: the goroutine has gone on from its wait.
	Ended Phase = iota
	// Waiting: a stop has interrupted the wait. By itself the thread would wait again.
	Waiting
	// Between: the thread is about to wait or to go on, or handles a signal meanwhile. Soon it waits or goes on.
	Between
)

// Phase finds out how far the thread of a parked goroutine is with its wait. g is the address of the runtime's g. The
// thread is in a ptrace stop with these registers.
func (p *Program) Phase(w *Wait, g uint64, regs *unix.PtraceRegs) Phase {
	if w.Interrupted(regs) {
		return Waiting
	}
	if called, err := p.Waiting(g); err == nil && called.isParked() {
		return Between // in the system call: it handles a signal
	}
	if now, err := p.Goroutine(regs); err == nil {
		if now.G == g && now.isParked() {
			return Between
		}
		return Ended
	}
	// The thread is on a stack of the runtime's own: for this goroutine, or for none.
	own, known := p.machine(gOf(regs))
	if of, ok := p.machine(g); known && ok && own != of {
		return Ended
	}
	return Between
}

// machine returns the address of the runtime's m on which a goroutine is; 0: it is on none.
func (p *Program) machine(g uint64) (m uint64, ok bool) {
	b := make([]byte, 8)
	if ReadMemory(p.PID, g+threadAt, b) != nil {
		return 0, false
	}
	return word(b, 0), true
}

// DebugCall is the function of the runtime from which a parked goroutine seems to wait.
const DebugCall = "runtime.debugCallV2"

// isParked reports whether the frames of a wait are on the goroutine's stack.
func (g *Goroutine) isParked() bool {
	return slices.ContainsFunc(g.Frames, func(f Frame) bool { return f.Function == DebugCall })
}
