package gocode

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// Wide is the instruction itself that Entry or Exits found, if it has several bytes, or one
// next to it that has, and where arguments and results are the same. ok is false if there is
// none.
//
// A debugger's breakpoint is one byte, and the processor is behind it when it has stopped.
// Behind an instruction of one byte it is as well when it has run it: if the debugger then
// has the program stop for another reason, it may take the one for the other and run the
// instruction again, which takes one word too many off the stack. Delve does.
func (t Text) Wide(f *pclntab.Func, i Inst) (wide Inst, ok bool) {
	switch {
	case i.Len > 1:
		return i, true
	case i.Op == x86asm.PUSH: // of the frame pointer; what follows has it point to the frame
		next, err := t.Decode(i.Next())
		return next, err == nil && next.Len > 1 && next.Op == x86asm.MOV && next.Args[0] == x86asm.RBP
	case i.Op == x86asm.POP: // what frees the frame is before it
		for _, length := range []uint64{4, 7} {
			free, err := t.Decode(i.PC - length)
			if err != nil || uint64(free.Len) != length {
				continue
			}
			n, frees := free.Frees()
			at, known := f.Delta(free.PC)
			if frees && known && at == n+8 {
				return free, true
			}
		}
	}
	return Inst{}, false
}

// Frees is how much the instruction takes off the stack pointer's distance.
func (i Inst) Frees() (int64, bool) {
	imm, ok := i.Args[1].(x86asm.Imm)
	switch {
	case !ok || i.Args[0] != x86asm.RSP:
		return 0, false
	case i.Op == x86asm.ADD:
		return int64(imm), true
	case i.Op == x86asm.SUB: // of -128, which is shorter
		return -int64(imm), true
	}
	return 0, false
}
