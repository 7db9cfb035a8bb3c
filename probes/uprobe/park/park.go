//go:build linux && amd64

package park

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"
)

// Park makes the goroutine of a thread wait until w.Until. Thread w.TID of this program is in a ptrace stop with
// these registers, behind the place w.Place. It still is when Park returns: let it go on without a signal. If Park
// refuses, the thread is as it was.
//
// The process that calls Park may be killed at any time: no code looks below the stack pointer, and the registers
// change at once.
func (p *Program) Park(w *Wait, g *Goroutine, regs *unix.PtraceRegs) *RefusedError {
	if why := p.safe(regs.Rip - p.bias); why != nil {
		return why
	}
	if room := regs.Rsp - g.low; regs.Rsp < g.low || room < p.need {
		return refuse(LittleStack, "only %d bytes of its stack are left, and %d are needed", room, p.need)
	}
	w.PID = p.PID
	frames, to := p.frames(w, regs)
	if err := write(p.PID, to.Rsp, frames); err != nil {
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
		set = unix.PtraceSetRegs
	}
	if err := set(w.TID, to); err != nil {
		return fmt.Errorf("set registers of thread %d: %w", w.TID, err)
	}
	return nil
}

// frames returns the frames of the call, as they stand below the stack pointer, and the registers with which it is
// made.
func (p *Program) frames(w *Wait, regs *unix.PtraceRegs) ([]byte, *unix.PtraceRegs) {
	size := p.path.size()
	low := regs.Rsp - size
	b := make([]byte, size)
	// From the top, first debugCallV2, called from where the goroutine was.
	at := size - 8
	put(b, at, regs.Rip)
	put(b, at-8, regs.Rbp)
	pointer := at - 8 // where the frame pointer points
	at -= p.path.registers.delta
	for reg, v := range values(regs) {
		put(b, at+uint64(p.path.slots[reg]), v)
	}
	// Then debugCall128, called by debugCallV2. The record is in its frame.
	at -= 8
	put(b, at, p.path.registers.pc+p.bias)
	put(b, at-8, low+pointer)
	pointer = at - 8
	at -= p.path.room.delta
	w.encode(b[at+recordAt:])
	w.at = low + at + recordAt
	// Then Syscall6, called by debugCall128. Its frame stands, and is empty.
	at -= 8
	put(b, at, p.path.room.pc+p.bias)
	put(b, at-8, low+pointer)
	pointer = at - 8

	to := *regs
	to.Rip, to.Rsp, to.Rbp = p.path.enter.pc+p.bias, low, low+pointer
	a := arguments6(w.at)
	to.Rax, to.Rbx, to.Rcx, to.Rdi, to.Rsi, to.R8, to.R9 = unix.SYS_PPOLL, a[0], a[1], a[2], a[3], a[4], a[5]
	to.Orig_rax = noSyscall
	return b, &to
}

// noSyscall is -1. It tells the kernel that no system call is to be made once more.
const noSyscall = 1<<64 - 1

func values(r *unix.PtraceRegs) map[x86asm.Reg]uint64 {
	return map[x86asm.Reg]uint64{
		x86asm.RAX: r.Rax, x86asm.RBX: r.Rbx, x86asm.RCX: r.Rcx, x86asm.RDX: r.Rdx, x86asm.RSI: r.Rsi,
		x86asm.RDI: r.Rdi, x86asm.RBP: r.Rbp, x86asm.R8: r.R8, x86asm.R9: r.R9, x86asm.R10: r.R10,
		x86asm.R11: r.R11, x86asm.R12: r.R12, x86asm.R13: r.R13, x86asm.R14: r.R14, x86asm.R15: r.R15,
	}
}
