//go:build linux

package park

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// On arm64 the kernel sets an interrupted thread back to the instruction of its system call, with the arguments, before a
// tracer sees the thread. So it cannot be told from a thread that has yet to make the call. What is done with the one does
// for the other, too.

// The instruction of the system call, SVC $0, and the one before it, MOVD 56(RSP), R5, which loads the last argument. To
// run it again changes nothing.
const systemCall, lastArgument = 0xd4000001, 0xf9401fe5

// Interrupted reports whether a thread in a ptrace stop was interrupted while it waited with this goroutine, or has yet to
// begin the wait. It would then wait by itself, unless it was interrupted and a signal is delivered.
func (w *Wait) Interrupted(regs *unix.PtraceRegs) bool {
	if regs.Regs[8] != unix.SYS_PPOLL || [6]uint64(regs.Regs[:6]) != here.arguments(w.at) {
		return false
	}
	at, err := w.instruction(regs.Pc)
	return err == nil && at == systemCall
}

// Begins is part of Interrupted.
func (*Wait) Begins(*unix.PtraceRegs) bool { return false }

func (w *Wait) instruction(pc uint64) (uint32, error) {
	b := make([]byte, 4)
	err := ReadMemory(w.PID, pc, b)
	return binary.LittleEndian.Uint32(b), err
}

// end sets the registers so that the system call is over.
func (w *Wait) end(to *unix.PtraceRegs) {
	to.Pc += 4
	to.Regs[0] = interrupted
}

// again sets the registers so that the system call is made once more. If the thread stood at the instruction itself, the
// kernel would end the call when it delivers a signal.
func (w *Wait) again(to *unix.PtraceRegs) error {
	before, err := w.instruction(to.Pc - 4)
	if err != nil {
		return err
	}
	if before != lastArgument {
		return fmt.Errorf("thread %d made its system call behind %#08x", w.TID, before)
	}
	to.Pc -= 4
	return nil
}
