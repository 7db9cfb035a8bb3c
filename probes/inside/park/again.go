//go:build linux && (amd64 || arm64)

package park

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// interrupted is the result of a system call that a signal has ended: -EINTR.
const interrupted = ^uint64(unix.EINTR) + 1

// End ends the wait of an interrupted thread without a signal. The thread is in a ptrace stop with these registers,
// and Interrupted.
func (w *Wait) End(regs *unix.PtraceRegs) error {
	to := *regs
	w.end(&to)
	return w.setRegs(&to)
}

// Reset makes a wait that a thread has yet to begin last until another time; 0: it ends as it begins. The thread stands
// still with these registers. Reset fails if the frame of the wait is not, or no longer, on the thread's stack.
func (w *Wait) Reset(regs *unix.PtraceRegs, until time.Duration) error {
	const near = 4096 // the stack that the functions between may take
	now, b := *w, make([]byte, here.size)
	sp := spOf(regs)
	if sp > w.at || w.at-sp > near || ReadMemory(w.PID, w.at, b) != nil || !now.decode(here, b) || now.Hold != w.Hold || now.Since != w.Since {
		return fmt.Errorf("thread %d is not on its way to the wait", w.TID)
	}
	w.Until = until
	return w.writeTimes()
}

// Again makes an interrupted thread wait once more, until w.Until, also if a signal is delivered to it. The thread is
// in a ptrace stop with these registers, and Interrupted.
func (w *Wait) Again(regs *unix.PtraceRegs) error {
	to := *regs
	if err := w.again(&to); err != nil {
		return err
	}
	if err := w.writeTimes(); err != nil {
		return err
	}
	return w.setRegs(&to)
}

// writeTimes writes into the record how long to wait.
func (w *Wait) writeTimes() error {
	b := make([]byte, here.size)
	w.encode(here, b)
	if err := write(w.PID, w.at+here.timeout, b[here.timeout:here.timeout+16]); err != nil {
		return err
	}
	return write(w.PID, w.at+here.until, b[here.until:here.until+8])
}
