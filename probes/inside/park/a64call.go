//go:build linux && (amd64 || arm64)

package park

// a64PPoll is the number of the system call on arm64.
const a64PPoll = 73

// a64Registers are the registers of a thread on arm64, as ptrace has them.
type a64Registers struct {
	Regs           [31]uint64
	Sp, Pc, Pstate uint64
}

// a64Call returns the frames of the call, and where they stand, and sets the registers with which it is made. They stand
// below the stack pointer, but for its next word, in which a function keeps its caller's frame pointer.
func (p *Program) a64Call(w *Wait, regs *a64Registers) (frames []byte, low uint64) {
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
	for reg, v := range regs.values() {
		set(debug+uint64(p.path.slots[reg]), v)
	}
	w.at = room + a64Record
	w.encode(&a64Layout, b[w.at-low:])

	regs.Pc, regs.Sp, regs.Regs[fp] = p.path.enter.pc+p.bias, sp, sp-8
	a := a64Layout.arguments(w.at)
	regs.Regs[0] = a64PPoll
	copy(regs.Regs[1:], a[:])
	return b, low
}

// values returns the registers that debugCallV2 restores, by their numbers.
func (r *a64Registers) values() map[int]uint64 {
	out := map[int]uint64{}
	for reg := range fp {
		if reg != unused {
			out[reg] = r.Regs[reg]
		}
	}
	return out
}
