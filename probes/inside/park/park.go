//go:build linux && (amd64 || arm64)

package park

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Park makes the goroutine of a thread wait until w.Until. Thread w.TID of this program is in a ptrace stop with
// these registers, behind the place w.Place. It still is when Park returns: let it go on without a signal. If Park
// refuses, the thread is as it was.
//
// The process that calls Park may be killed at any time: no code looks below the stack pointer, and the registers
// change at once.
func (p *Program) Park(w *Wait, g *Goroutine, regs *unix.PtraceRegs) *RefusedError {
	if why := p.safe(pcOf(regs) - p.bias); why != nil {
		return why
	}
	if room := spOf(regs) - g.low; spOf(regs) < g.low || room < p.need {
		return refuse(LittleStack, "only %d bytes of its stack are left, and %d are needed", room, p.need)
	}
	w.PID = p.PID
	frames, low, to := p.frames(w, regs)
	if err := write(p.PID, low, frames); err != nil {
		return refuse(Failed, "%v", err)
	}
	w.set = p.SetRegs
	if err := w.setRegs(to); err != nil {
		return refuse(Failed, "%v", err)
	}
	return nil
}

// setter sets a thread's registers.
type setter func(tid int, regs *unix.PtraceRegs) error

// setRegs sets the registers of the wait's thread.
func (w *Wait) setRegs(to *unix.PtraceRegs) error {
	set := w.set
	if set == nil {
		set = setRegisters
	}
	if err := set(w.TID, to); err != nil {
		return fmt.Errorf("set registers of thread %d: %w", w.TID, err)
	}
	return nil
}
