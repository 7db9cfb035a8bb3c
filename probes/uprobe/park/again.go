//go:build linux && amd64

package park

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Interrupted reports whether a thread in a ptrace stop was interrupted while it waited
// with this goroutine. By itself it would then wait again, unless a signal is delivered.
func (w *Wait) Interrupted(regs *unix.PtraceRegs) bool {
	const restart = -514 // ERESTARTNOHAND
	return regs.Orig_rax == unix.SYS_PPOLL && int64(regs.Rax) == restart && w.isCalled(regs)
}

// Begins reports whether a thread in a ptrace stop makes the system call next by which it waits
// with this goroutine: after a signal that was blocked meanwhile, or for the first time.
func (w *Wait) Begins(regs *unix.PtraceRegs) bool {
	return regs.Rax == unix.SYS_PPOLL && w.isCalled(regs)
}

// isCalled reports whether the arguments in the registers are those of the wait.
func (w *Wait) isCalled(regs *unix.PtraceRegs) bool {
	return [6]uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9} == arguments6(w.at)
}

// End has an interrupted thread wait no more, without a signal. The thread is in a ptrace
// stop with these registers, and Interrupted.
func (w *Wait) End(regs *unix.PtraceRegs) error {
	const interrupted = noSyscall - uint64(unix.EINTR) + 1 // -EINTR
	to := *regs
	to.Rax, to.Orig_rax = interrupted, noSyscall
	return w.setRegs(&to)
}

// Expire has the goroutine of a thread that stands still with these registers, and has yet to
// begin its wait, not wait at all. It fails if the frame of the wait is not on the thread's
// stack, or not any more.
func (w *Wait) Expire(regs *unix.PtraceRegs) error {
	const near = 4096 // what the functions between may have of stack
	now, b := *w, make([]byte, recordSize)
	if regs.Rsp > w.at || w.at-regs.Rsp > near || ReadMemory(w.PID, w.at, b) != nil || !now.decode(b) || now.Hold != w.Hold || now.Since != w.Since {
		return fmt.Errorf("thread %d is not on its way to the wait", w.TID)
	}
	w.Until = 0
	return w.writeTimes()
}

// Again has an interrupted thread wait once more, also if a signal is delivered to it, until
// w.Until. The thread is in a ptrace stop with these registers, and Interrupted.
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

// writeTimes writes how long to wait into the record.
func (w *Wait) writeTimes() error {
	b := make([]byte, recordSize)
	w.encode(b)
	return write(w.PID, w.at, b)
}
