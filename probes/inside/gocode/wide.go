package gocode

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// Wide returns an instruction of several bytes.
//
// A debugger's breakpoint is one byte, and a processor that it has stopped is one byte behind its address. If the
// instruction has one byte, the processor is there too after it has run the instruction. So if the debugger then
// stops the program for another reason, it may take this stop for the breakpoint and run the instruction again, which
// takes one word too many off the stack. Delve does.
func (t Text) Wide(f *pclntab.Func, pc uint64) (wide uint64, ok bool) {
	i, err := t.Decode(pc)
	switch {
	case err != nil:
	case i.Len > 1:
		return pc, true
	case i.Op == x86asm.PUSH: // of the frame pointer; the next instruction makes it point to the frame
		next, err := t.Decode(i.Next())
		return next.PC, err == nil && next.Len > 1 && next.Op == x86asm.MOV && next.Args[0] == x86asm.RBP
	case i.Op == x86asm.POP: // the instruction before it frees the frame
		for _, length := range []uint64{4, 7} {
			free, err := t.Decode(pc - length)
			if err != nil || uint64(free.Len) != length {
				continue
			}
			n, frees := free.Frees()
			at, known := f.Delta(free.PC)
			if frees && known && at == n+8 {
				return free.PC, true
			}
		}
	}
	return 0, false
}

// Frees returns by how much the instruction raises the stack pointer.
func (i Inst) Frees() (int64, bool) {
	imm, ok := i.Args[1].(x86asm.Imm)
	switch {
	case !ok || i.Args[0] != x86asm.RSP:
		return 0, false
	case i.Op == x86asm.ADD:
		return int64(imm), true
	case i.Op == x86asm.SUB: // SUB of -128 is shorter than ADD of 128
		return -int64(imm), true
	}
	return 0, false
}
