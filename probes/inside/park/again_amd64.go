//go:build linux

package park

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Interrupted reports whether a thread in a ptrace stop was interrupted while it waited with this goroutine. It would
// then wait again by itself, unless a signal is delivered.
func (w *Wait) Interrupted(regs *unix.PtraceRegs) bool {
	const restart = -514 // ERESTARTNOHAND
	return regs.Orig_rax == unix.SYS_PPOLL && int64(regs.Rax) == restart && w.isCalled(regs)
}

// Begins reports whether the next thing that a thread in a ptrace stop does is the system call by which it waits with
// this goroutine: for the first time, or after a signal that was blocked meanwhile.
func (w *Wait) Begins(regs *unix.PtraceRegs) bool {
	return regs.Rax == unix.SYS_PPOLL && w.isCalled(regs)
}

// isCalled reports whether the arguments in the registers are those of the wait.
func (w *Wait) isCalled(regs *unix.PtraceRegs) bool {
	return [6]uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9} == here.arguments(w.at)
}

// end sets the registers so that the interrupted system call is over.
func (w *Wait) end(to *unix.PtraceRegs) {
	to.Rax, to.Orig_rax = interrupted, noSyscall
}

// again sets the registers so that the interrupted system call is made once more.
func (w *Wait) again(to *unix.PtraceRegs) error {
	instruction := make([]byte, 2)
	at := to.Rip - uint64(len(instruction))
	if err := ReadMemory(w.PID, at, instruction); err != nil {
		return err
	}
	if string(instruction) != "\x0f\x05" {
		return fmt.Errorf("thread %d made its system call with % x", w.TID, instruction)
	}
	to.Rip, to.Rax, to.Orig_rax = at, unix.SYS_PPOLL, noSyscall
	return nil
}
