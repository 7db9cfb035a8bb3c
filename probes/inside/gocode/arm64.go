package gocode

import (
	"fmt"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// arm64 is the code of a program on arm64. Among the instructions there may be constants. What cannot be decoded is taken
// for one.
type arm64 pclntab.Section

func (arm64) Arch() string { return "arm64" }

func (t arm64) Entry(f *pclntab.Func) (uint64, error) { return entryOf(t, f) }

// Exits returns the instructions that take down the frame: behind them, a goroutine is still in the function and can be
// held. Where there is no such instruction, it is the return itself.
func (t arm64) Exits(f *pclntab.Func) ([]uint64, error) { return exitsOf(t, f) }

// Wide returns the instruction itself: a breakpoint has four bytes, as each instruction has.
func (arm64) Wide(_ *pclntab.Func, pc uint64) (uint64, bool) { return pc, true }

func (t arm64) decode(pc uint64) (out instruction, err error) {
	const size = 4
	if pc < t.Addr || pc%size != 0 || pc-t.Addr+size > uint64(len(t.Data)) {
		return out, fmt.Errorf("the address %#x is not in the program's code", pc)
	}
	out = instruction{pc: pc, next: pc + size}
	i, err := arm64asm.Decode(t.Data[pc-t.Addr:])
	if err != nil {
		return out, nil
	}
	switch i.Op {
	case arm64asm.RET:
		out.returns = true
	case arm64asm.B, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ:
		for _, a := range i.Args {
			if to, ok := a.(arm64asm.PCRel); ok {
				out.jumps = pc + uint64(to)
			}
		}
	}
	return out, nil
}

// exit returns the instruction right before an address if it takes down the frame and only the return follows. Otherwise it
// returns the return itself.
func (t arm64) exit(f *pclntab.Func, begins, ret uint64) uint64 {
	const size = 4
	if delta, ok := f.Delta(begins - size); begins == ret && ok && delta > 0 {
		return begins - size
	}
	return ret
}
