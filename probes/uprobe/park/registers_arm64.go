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

// What the system call reads of a parked goroutine's record stands in the frame from which it waits, above the address to
// return to and the seven words that the called function may use. The rest is in the frame above it, debugCallV2's.
const (
	recordAt   = 8 + 7*8
	recordSize = untilAt + 8

	blockedAt = 0
	timeoutAt = 8
	magicAt   = above + a64UnusedLow
	idAt      = magicAt + 8
	sinceAt   = magicAt + 16
	placeAt   = above + a64UnusedHigh
	untilAt   = placeAt + 8

	above = a64RoomFrame - recordAt
)

// frames returns the frames of the call, where they stand, and the registers with which it is made. They stand below the
// stack pointer, but for its next word, in which a function keeps its caller's frame pointer.
func (p *Program) frames(w *Wait, regs *unix.PtraceRegs) (frames []byte, low uint64, to *unix.PtraceRegs) {
	sp := regs.Sp - p.path.size
	low = sp - 8
	b := make([]byte, p.path.size)
	set := func(at, v uint64) { put(b, at-low, v) }
	// From below, first Syscall6, then RawSyscall6, then debugCallV2. Each has at the stack pointer the address to which it
	// returns, and right below it the frame pointer around.
	room := sp + p.path.enter.delta
	debug := room + p.path.room.delta
	set(sp, p.path.room.pc+p.bias)
	set(sp-8, room-8)
	set(room, p.path.registers.pc+p.bias)
	set(room-8, debug-8)
	set(debug, regs.Pc)
	set(debug-8, regs.Regs[fp])
	set(debug+p.path.registers.delta, regs.Regs[lr])
	for reg, v := range values(regs) {
		set(debug+uint64(p.path.slots[reg]), v)
	}
	w.at = room + recordAt
	w.encode(b[w.at-low:])

	out := *regs
	out.Pc, out.Sp, out.Regs[fp] = p.path.enter.pc+p.bias, sp, sp-8
	a := arguments6(w.at)
	out.Regs[0] = unix.SYS_PPOLL
	copy(out.Regs[1:], a[:])
	return b, low, &out
}

// values returns the registers that debugCallV2 restores, by their numbers.
func values(r *unix.PtraceRegs) map[int]uint64 {
	out := map[int]uint64{}
	for reg := range fp {
		if reg != unused {
			out[reg] = r.Regs[reg]
		}
	}
	return out
}
