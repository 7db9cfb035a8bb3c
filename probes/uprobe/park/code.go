//go:build linux && amd64

package park

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
	"github.com/podstep/podstep/probes/uprobe/gocode"
)

// inst is an instruction of the program.
type inst struct{ gocode.Inst }

// code decodes a function to its end, with the padding behind it.
func (p *Program) code(f *pclntab.Func) (out []inst, err error) {
	all, err := p.text.Function(f)
	for _, i := range all {
		out = append(out, inst{i})
	}
	return out, err
}

// Breakable reports whether a debugger may put an INT3 at an address, as the program was linked. In place of an
// instruction of one byte, it would leave nothing by which a thread behind it could be set back.
func (p *Program) Breakable(address uint64) bool {
	i, err := p.text.Decode(address)
	return err == nil && (i.Len > 1 || i.Op == x86asm.NOP)
}

// isTrap reports whether the instruction is an INT3.
func (i inst) isTrap() bool { return i.Op == x86asm.INT && i.Args[0] == x86asm.Imm(3) }

// sets reports whether the instruction sets a register to a constant.
func (i inst) sets(reg x86asm.Reg, v int64) bool {
	return i.Op == x86asm.MOV && wide(i.Args[0]) == reg && i.Args[1] == x86asm.Imm(v) ||
		v == 0 && i.Op == x86asm.XOR && wide(i.Args[0]) == reg && wide(i.Args[1]) == reg
}

// wide returns the register of which an instruction names the lower half.
func wide(a x86asm.Arg) x86asm.Reg {
	r, ok := a.(x86asm.Reg)
	if ok && r >= x86asm.EAX && r <= x86asm.R15L {
		return r - x86asm.EAX + x86asm.RAX
	}
	return r
}

// onStack returns the offset from the stack pointer at which an argument is.
func onStack(a x86asm.Arg) (disp int64, ok bool) {
	m, ok := a.(x86asm.Mem)
	return m.Disp, ok && m.Base == x86asm.RSP && m.Index == 0
}

// loads returns the register that the instruction loads, and the place on the stack from which.
func (i inst) loads() (reg x86asm.Reg, disp int64, ok bool) {
	reg, isReg := i.Args[0].(x86asm.Reg)
	disp, ok = onStack(i.Args[1])
	return reg, disp, ok && isReg && i.Op == x86asm.MOV && i.DataSize == 64
}

// stores returns the register that the instruction stores, and the place on the stack to which.
func (i inst) stores() (reg x86asm.Reg, disp int64, ok bool) {
	reg, isReg := i.Args[1].(x86asm.Reg)
	disp, ok = onStack(i.Args[0])
	return reg, disp, ok && isReg && i.Op == x86asm.MOV && i.DataSize == 64
}

// leaves reports whether the processor never goes on with the next instruction.
func (i inst) leaves() bool {
	return slices.Contains([]x86asm.Op{x86asm.JMP, x86asm.LJMP, x86asm.RET, x86asm.LRET, x86asm.UD2, x86asm.HLT}, i.Op)
}

// straight reports whether the processor always goes on with the next instruction.
func (i inst) straight() bool {
	switch i.Op {
	case x86asm.CALL, x86asm.LCALL, x86asm.RET, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ,
		x86asm.INT, x86asm.INTO, x86asm.ICEBP, x86asm.SYSCALL, x86asm.SYSENTER, x86asm.SYSEXIT, x86asm.SYSRET,
		x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.XBEGIN, x86asm.LJMP:
		return false
	}
	_, jumps := i.Args[0].(x86asm.Rel)
	return !jumps && i.Op != x86asm.JMP
}
