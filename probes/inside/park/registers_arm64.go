//go:build linux

package park

import (
	"debug/elf"

	"golang.org/x/sys/unix"
)

// machine is the architecture of this machine.
const machine = elf.EM_AARCH64

func pcOf(r *unix.PtraceRegs) uint64 { return r.Pc }
func spOf(r *unix.PtraceRegs) uint64 { return r.Sp }

// gOf returns the address of the runtime's g.
func gOf(r *unix.PtraceRegs) uint64 { return r.Regs[28] }

// linkOf returns the register with the address to return to, LR.
func linkOf(r *unix.PtraceRegs) uint64 { return r.Regs[lr] }

// general is the set of registers that the kernel calls NT_PRSTATUS: the general ones.
const general = 1

// Registers reads the registers of a thread in a ptrace stop.
func Registers(tid int, regs *unix.PtraceRegs) error {
	return unix.PtraceGetRegSetArm64(tid, general, (*unix.PtraceRegsArm64)(regs))
}

func setRegisters(tid int, regs *unix.PtraceRegs) error {
	return unix.PtraceSetRegSetArm64(tid, general, (*unix.PtraceRegsArm64)(regs))
}

// here is the layout of records on this machine.
var here = &a64Layout

// frames returns the frames of the call, where they stand, and the registers with which it is made.
func (p *Program) frames(w *Wait, regs *unix.PtraceRegs) (frames []byte, low uint64, to *unix.PtraceRegs) {
	out := *regs
	frames, low = p.a64Call(w, (*a64Registers)(&out))
	return frames, low, &out
}
