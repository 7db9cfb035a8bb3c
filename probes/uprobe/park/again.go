//go:build linux && amd64

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
	return [6]uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9} == arguments6(w.at)
}

// End ends the wait of an interrupted thread without a signal. The thread is in a ptrace stop with these registers,
// and Interrupted.
func (w *Wait) End(regs *unix.PtraceRegs) error {
	const interrupted = noSyscall - uint64(unix.EINTR) + 1 // -EINTR
	to := *regs
	to.Rax, to.Orig_rax = interrupted, noSyscall
	return w.setRegs(&to)
}

// Expire prevents a wait that a thread has yet to begin. The thread stands still with these registers. Expire fails
// if the frame of the wait is not, or no longer, on the thread's stack.
func (w *Wait) Expire(regs *unix.PtraceRegs) error {
	const near = 4096 // the stack that the functions between may take
	now, b := *w, make([]byte, recordSize)
	if regs.Rsp > w.at || w.at-regs.Rsp > near || ReadMemory(w.PID, w.at, b) != nil || !now.decode(b) || now.Hold != w.Hold || now.Since != w.Since {
		return fmt.Errorf("thread %d is not on its way to the wait", w.TID)
	}
	w.Until = 0
	return w.writeTimes()
}

// Again makes an interrupted thread wait once more, until w.Until, also if a signal is delivered to it. The thread is
// in a ptrace stop with these registers, and Interrupted.
func (w *Wait) Again(regs *unix.PtraceRegs) error {
	instruction := make([]byte, 2)
	at := regs.Rip - uint64(len(instruction))
	if err := ReadMemory(w.PID, at, instruction); err != nil {
		return err
	}
	if string(instruction) != "\x0f\x05" {
		return fmt.Errorf("thread %d made its system call with % x", w.TID, instruction)
	}
	if err := w.writeTimes(); err != nil {
		return err
	}
	to := *regs
	to.Rip, to.Rax, to.Orig_rax = at, unix.SYS_PPOLL, noSyscall
	return w.setRegs(&to)
}

// writeTimes writes into the record how long to wait.
func (w *Wait) writeTimes() error {
	b := make([]byte, recordSize)
	w.encode(b)
	return write(w.PID, w.at, b)
}
