package gocode

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/arch/arm64/arm64asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// InstARM64 is an instruction of a program on arm64, at the address at which it was linked. If Op is 0 the instruction is
// not known, or it is a constant; Enc has its four bytes all the same.
type InstARM64 struct {
	arm64asm.Inst
	PC uint64
}

// sizeARM64 is the size of each instruction.
const sizeARM64 = 4

// Next returns the address of the next instruction.
func (i InstARM64) Next() uint64 { return i.PC + sizeARM64 }

// Target returns where a jump or call with a fixed target goes.
func (i InstARM64) Target() (uint64, bool) {
	switch i.Op {
	case arm64asm.B, arm64asm.BL, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ:
		for _, a := range i.Args {
			if to, ok := a.(arm64asm.PCRel); ok {
				return i.PC + uint64(to), true
			}
		}
	}
	return 0, false
}

// ARM64 is the code of a program on arm64. Among the instructions there may be constants.
type ARM64 pclntab.Section

// Decode decodes the instruction at an address.
func (t ARM64) Decode(pc uint64) (InstARM64, error) {
	if pc < t.Addr || pc%sizeARM64 != 0 || pc-t.Addr+sizeARM64 > uint64(len(t.Data)) {
		return InstARM64{}, fmt.Errorf("the address %#x is not in the program's code", pc)
	}
	b := t.Data[pc-t.Addr:]
	decoded, err := arm64asm.Decode(b)
	if err != nil {
		decoded = arm64asm.Inst{Enc: binary.LittleEndian.Uint32(b)}
	}
	return InstARM64{decoded, pc}, nil
}

// Arch is arm64.
func (ARM64) Arch() string { return "arm64" }

// Entry is Code.Entry.
func (t ARM64) Entry(f *pclntab.Func) (uint64, error) { return entryOf(t, f) }

// Exits returns the instructions that take down the frame: behind them, a goroutine is still in the function and can be
// held. Where there is no such instruction, it is the return itself.
func (t ARM64) Exits(f *pclntab.Func) ([]uint64, error) { return exitsOf(t, f) }

// Wide returns the instruction itself: a breakpoint has four bytes, as each instruction has.
func (ARM64) Wide(_ *pclntab.Func, pc uint64) (uint64, bool) { return pc, true }

func (t ARM64) decode(pc uint64) (instruction, error) {
	i, err := t.Decode(pc)
	out := instruction{pc: pc, next: i.Next(), returns: i.Op == arm64asm.RET}
	if to, ok := i.Target(); ok && i.Op != arm64asm.BL {
		out.jumps = to
	}
	return out, err
}

// exit returns the instruction right before an address if it takes down the frame and only the return follows. Otherwise it
// returns the return itself.
func (t ARM64) exit(f *pclntab.Func, begins, ret uint64) uint64 {
	if delta, ok := f.Delta(begins - sizeARM64); begins == ret && ok && delta > 0 {
		return begins - sizeARM64
	}
	return ret
}
