package gocode

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// Inst is an instruction of a program, at the address at which it was linked.
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

// Text is a program's code.
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
