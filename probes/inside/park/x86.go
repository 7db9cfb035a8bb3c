//go:build linux && (amd64 || arm64)

package park

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/pclntab"
)

// x86 is the code of a program on amd64.
type x86 pclntab.Section

// kept is X15, which is always zero and is zero again after a wait.
const kept = vectors(1) << 15

// floats are X0 to X14. Go returns numbers in all of them; no function of the kubelet has more than eight.
func (x86) floats() (lost, results vectors) { return 1<<16 - 1 - kept, 1<<8 - 1 }

func (x86) pushed() int64 { return 8 }

// breakable: a breakpoint is an INT3, of one byte. In place of an instruction of one byte, it would leave nothing by which
// a thread behind it could be set back.
func (x86) breakable(i *inst) bool {
	return i.next-i.PC > 1 || i.text.(x86asm.Inst).Op == x86asm.NOP
}

func (x x86) decode(pc uint64) (inst, error) {
	i, err := gocode.Text(x).Decode(pc)
	if err != nil {
		return inst{}, err
	}
	op := i.Op
	out := inst{
		PC: pc, next: i.Next(), text: i.Inst,
		calls: op == x86asm.CALL, returns: op == x86asm.RET || op == x86asm.LRET, jumps: op == x86asm.JMP || op == x86asm.LJMP,
		dies:     op == x86asm.UD1 || op == x86asm.UD2 || op == x86asm.INT || op == x86asm.HLT,
		straight: x86Straight(i.Inst), readsFlags: x86ReadsFlags(op), setsFlags: x86SetsFlags(op),
		float: x86Float(i.Inst), truncates: x86Truncates(i.Inst),
		frames: op == x86asm.SUB || op == x86asm.ADD, looks: x86Looks(i.Inst),
	}
	out.reads, out.sets = x86Vectors(i.Inst)
	if to, ok := i.Target(); ok {
		out.to = to
	}
	return out, nil
}

// x86Straight reports whether the processor always goes on with the next instruction.
func x86Straight(i x86asm.Inst) bool {
	switch i.Op {
	case x86asm.CALL, x86asm.LCALL, x86asm.RET, x86asm.LRET, x86asm.IRET, x86asm.IRETD, x86asm.IRETQ,
		x86asm.INT, x86asm.INTO, x86asm.ICEBP, x86asm.SYSCALL, x86asm.SYSENTER, x86asm.SYSEXIT, x86asm.SYSRET,
		x86asm.UD1, x86asm.UD2, x86asm.HLT, x86asm.XBEGIN, x86asm.LJMP:
		return false
	}
	_, jumps := i.Args[0].(x86asm.Rel)
	return !jumps && i.Op != x86asm.JMP
}

// x86Looks reports whether the instruction compares with the third word of a g.
func x86Looks(i x86asm.Inst) bool {
	m, ok := i.Args[1].(x86asm.Mem)
	return ok && i.Op == x86asm.CMP && m.Disp == guard && m.Index == 0 && m.Base != x86asm.RSP
}

func x86ReadsFlags(op x86asm.Op) bool {
	switch op {
	case x86asm.ADC, x86asm.SBB, x86asm.RCL, x86asm.RCR, x86asm.PUSHF, x86asm.PUSHFD, x86asm.PUSHFQ, x86asm.LAHF, x86asm.CMC:
		return true
	case x86asm.JMP, x86asm.JCXZ, x86asm.JECXZ, x86asm.JRCXZ:
		return false
	}
	name := op.String()
	return strings.HasPrefix(name, "J") || strings.HasPrefix(name, "SET") || strings.HasPrefix(name, "CMOV") || strings.HasPrefix(name, "FCMOV")
}

func x86SetsFlags(op x86asm.Op) bool {
	switch op {
	case x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.NEG, x86asm.XADD, x86asm.CMPXCHG,
		x86asm.UCOMISD, x86asm.UCOMISS, x86asm.COMISD, x86asm.COMISS, x86asm.CALL, x86asm.RET:
		return true
	}
	return false
}

func x86Bit(a x86asm.Arg) vectors {
	if r, ok := a.(x86asm.Reg); ok && r >= x86asm.X0 && r <= x86asm.X15 {
		return 1 << (r - x86asm.X0)
	}
	return 0
}

// x86Vectors returns inst.reads and inst.sets.
func x86Vectors(i x86asm.Inst) (reads, sets vectors) {
	first := x86Bit(i.Args[0])
	for n, arg := range i.Args {
		if n > 0 && arg != nil {
			reads |= x86Bit(arg)
		}
	}
	switch name := i.Op.String(); {
	case first == 0:
	case i.Op == x86asm.XORPS || i.Op == x86asm.PXOR || i.Op == x86asm.XORPD:
		if i.Args[0] == i.Args[1] {
			return 0, first &^ kept
		}
		reads |= first
	case strings.HasPrefix(name, "MOV") && i.Op != x86asm.MOVHPD && i.Op != x86asm.MOVHPS && i.Op != x86asm.MOVLPD && i.Op != x86asm.MOVLPS:
		sets = first
	case strings.HasPrefix(name, "CVT") || strings.HasPrefix(name, "SQRT"):
		sets = first // no code uses the bits above the number
	default:
		reads |= first
		sets = first
	}
	return reads &^ kept, sets &^ kept
}

// x86Float returns inst.float.
func x86Float(i x86asm.Inst) bool {
	if x86Bit(i.Args[0])&^kept == 0 {
		return false
	}
	switch i.Op {
	case x86asm.MOVUPS, x86asm.MOVUPD, x86asm.MOVAPS, x86asm.MOVDQU, x86asm.MOVDQA:
		return x86Bit(i.Args[1])&^kept != 0
	}
	return true
}

func x86Truncates(i x86asm.Inst) bool {
	return (i.Op == x86asm.CVTTSD2SI || i.Op == x86asm.CVTTSS2SI) && x86Bit(i.Args[1]) == firstResult
}
