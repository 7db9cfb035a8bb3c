package gocode

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// Inst is an instruction of a program on amd64, at the address at which it was linked.
type Inst struct {
	x86asm.Inst
	PC uint64
}

// Next returns the address of the next instruction.
func (i Inst) Next() uint64 { return i.PC + uint64(i.Len) }

// Target returns where a jump or call with a fixed target goes.
func (i Inst) Target() (uint64, bool) {
	rel, ok := i.Args[0].(x86asm.Rel)
	return i.Next() + uint64(int64(rel)), ok
}

// Text is the code of a program on amd64.
type Text pclntab.Section

// Decode decodes the instruction at an address.
func (t Text) Decode(pc uint64) (Inst, error) {
	if pc < t.Addr || pc-t.Addr >= uint64(len(t.Data)) {
		return Inst{}, fmt.Errorf("the address %#x is not in the program's code", pc)
	}
	const longest = 15
	b := t.Data[pc-t.Addr:]
	decoded, err := x86asm.Decode(b[:min(len(b), longest)], 64)
	if err != nil {
		return Inst{}, fmt.Errorf("decode the instruction at %#x: %w", pc, err)
	}
	return Inst{decoded, pc}, nil
}

// Function decodes a function to its end, with the padding behind it.
func (t Text) Function(f *pclntab.Func) (all []Inst, err error) {
	for pc := f.Entry; pc < f.End; {
		i, err := t.Decode(pc)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		all = append(all, i)
		pc = i.Next()
	}
	return all, nil
}

// Arch is amd64.
func (Text) Arch() string { return "amd64" }

// Entry is Code.Entry.
func (t Text) Entry(f *pclntab.Func) (uint64, error) { return entryOf(t, f) }

// Exits returns the instructions that restore the frame pointer: behind them, a goroutine is still in the function and
// can be held. Where there is no such instruction, it is the return itself.
func (t Text) Exits(f *pclntab.Func) ([]uint64, error) { return exitsOf(t, f) }

func (t Text) decode(pc uint64) (instruction, error) {
	i, err := t.Decode(pc)
	out := instruction{pc: pc, next: i.Next(), returns: i.Op == x86asm.RET, pads: i.Op == x86asm.NOP}
	if to, ok := i.Target(); ok && i.Op != x86asm.CALL {
		out.jumps = to
	}
	return out, err
}

// exit returns the instruction right before an address if it restores the frame pointer. Otherwise it returns the
// return itself.
func (t Text) exit(f *pclntab.Func, begins, ret uint64) uint64 {
	const length = 1
	pop, err := t.Decode(begins - length)
	delta, ok := f.Delta(begins - length)
	if err == nil && ok && delta == 8 && pop.Op == x86asm.POP && pop.Args[0] == x86asm.RBP {
		return pop.PC
	}
	return ret
}
