//go:build linux

package park

import (
	"debug/elf"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"
)

// machine is the architecture of this machine.
const machine = elf.EM_X86_64

func pcOf(r *unix.PtraceRegs) uint64 { return r.Rip }
func spOf(r *unix.PtraceRegs) uint64 { return r.Rsp }

// gOf returns the address of the runtime's g.
func gOf(r *unix.PtraceRegs) uint64 { return r.R14 }

// linkOf would return the register with the address to return to.
func linkOf(*unix.PtraceRegs) uint64 { return 0 }

// Registers reads the registers of a thread in a ptrace stop.
func Registers(tid int, regs *unix.PtraceRegs) error { return unix.PtraceGetRegs(tid, regs) }

func setRegisters(tid int, regs *unix.PtraceRegs) error { return unix.PtraceSetRegs(tid, regs) }

// frames returns the frames of the call, where they stand below the stack pointer, and the registers with which it is
// made.
func (p *Program) frames(w *Wait, regs *unix.PtraceRegs) (frames []byte, low uint64, to *unix.PtraceRegs) {
	size := p.path.size
	low = regs.Rsp - size
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
	w.encode(here, b[at+x86Record:])
	w.at = low + at + x86Record
	// Then Syscall6, called by debugCall128. Its frame stands, and is empty.
	at -= 8
	put(b, at, p.path.room.pc+p.bias)
	put(b, at-8, low+pointer)
	pointer = at - 8

	out := *regs
	out.Rip, out.Rsp, out.Rbp = p.path.enter.pc+p.bias, low, low+pointer
	a := here.arguments(w.at)
	out.Rax, out.Rbx, out.Rcx, out.Rdi, out.Rsi, out.R8, out.R9 = unix.SYS_PPOLL, a[0], a[1], a[2], a[3], a[4], a[5]
	out.Orig_rax = noSyscall
	return b, low, &out
}

// noSyscall is -1. It tells the kernel that no system call is to be made once more.
const noSyscall = 1<<64 - 1

// values returns the registers that debugCallV2 restores, by their numbers.
func values(r *unix.PtraceRegs) map[int]uint64 {
	return map[int]uint64{
		int(x86asm.RAX): r.Rax, int(x86asm.RBX): r.Rbx, int(x86asm.RCX): r.Rcx, int(x86asm.RDX): r.Rdx, int(x86asm.RSI): r.Rsi,
		int(x86asm.RDI): r.Rdi, int(x86asm.RBP): r.Rbp, int(x86asm.R8): r.R8, int(x86asm.R9): r.R9, int(x86asm.R10): r.R10,
		int(x86asm.R11): r.R11, int(x86asm.R12): r.R12, int(x86asm.R13): r.R13, int(x86asm.R14): r.R14, int(x86asm.R15): r.R15,
	}
}
