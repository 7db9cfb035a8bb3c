//go:build linux

package uprobe

import (
	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/inside/gocode"
)

// maker is the function of Go's runtime that makes goroutines.
const maker = "runtime.newproc1"

// numbersTaken is how many numbers of goroutines a processor takes at once.
const numbersTaken = 16

// numbersAt returns the address of the highest number of a goroutine that was taken, as the program was linked. It
// finds it by the instructions of the runtime that take numbers, on amd64:
//
//	MOVL $16, R1; LEAQ at(RIP), R2; LOCK XADDQ R1, (R2)
func (i *image) numbersAt() (at uint64, ok bool) {
	text, is := i.code.(gocode.Text)
	f, ok := i.functions.ByName(maker)
	if !ok || !is {
		return 0, false
	}
	code, err := text.Function(f)
	if err != nil {
		return 0, false
	}
	for n := 2; n < len(code); n++ {
		amount, address, add := code[n-2], code[n-1], code[n]
		if add.Op != x86asm.XADD || amount.Op != x86asm.MOV || amount.Args[1] != x86asm.Imm(numbersTaken) {
			continue
		}
		if at, ok := relative(address); ok && add.Args[0] == (x86asm.Mem{Base: address.Args[0].(x86asm.Reg)}) {
			return at, true
		}
	}
	return 0, false
}

// relative returns the address that an instruction puts into a register, if it is relative to the instruction's own
// address.
func relative(i gocode.Inst) (uint64, bool) {
	m, ok := i.Args[1].(x86asm.Mem)
	_, register := i.Args[0].(x86asm.Reg)
	if i.Op != x86asm.LEA || !ok || !register || m.Base != x86asm.RIP {
		return 0, false
	}
	return i.Next() + uint64(m.Disp), true
}
