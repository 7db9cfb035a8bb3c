//go:build linux && (amd64 || arm64)

package park

import (
	"errors"
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/pclntab"
)

// x86Saved are the registers that debugCallV2 restores. The stack pointer is not among them. debugCallV2 keeps the frame
// pointer a second time above the frame, as every function does.
var x86Saved = []x86asm.Reg{
	x86asm.RAX, x86asm.RBX, x86asm.RCX, x86asm.RDX, x86asm.RSI, x86asm.RDI, x86asm.RBP, x86asm.R8,
	x86asm.R9, x86asm.R10, x86asm.R11, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15,
}

// x86Arguments are the registers in which Go passes the first seven integers.
var x86Arguments = []x86asm.Reg{
	x86asm.RAX, x86asm.RBX, x86asm.RCX, x86asm.RDI, x86asm.RSI, x86asm.R8, x86asm.R9,
}

func (x86) findPath(p *Program) (*path, error) {
	out, err := p.findAll(finders{
		DebugCall:      x86Restores,
		"debugCall128": x86Room, "runtime.debugCall128": x86Room,
		// A wrapper for callers in assembly has the same name.
		"syscall.Syscall6": x86Enter,
	})
	if err == nil {
		out.size = 8 + out.registers.delta + 8 + out.room.delta + 8 + out.enter.delta
	}
	return out, err
}

func x86Of(i inst) x86asm.Inst { return i.text.(x86asm.Inst) }

// x86Restores finds where debugCallV2 restores the registers: behind R12 = 16, INT3.
func x86Restores(p *Program, f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	rest := x86BehindTrap(code, 16)
	if rest == nil {
		return errors.New("it has no INT3 with 16 in R12")
	}
	out.registers.pc, out.slots = rest[0].PC, map[int]int64{}
	for len(rest) > 0 {
		reg, disp, ok := x86Loads(x86Of(rest[0]))
		if !ok {
			break
		}
		out.slots[int(reg)], rest = disp, rest[1:]
	}
	if out.registers.delta, err = x86Leaves(f, out.registers.pc, rest); err != nil {
		return err
	}
	taken := map[int64]bool{}
	for _, reg := range x86Saved {
		disp, ok := out.slots[int(reg)]
		if !ok || disp < 0 || disp%8 != 0 || disp > int64(out.registers.delta)-16 || taken[disp] {
			return fmt.Errorf("it does not take %v back from a place of its own in its frame", reg)
		}
		taken[disp] = true
	}
	if len(out.slots) != len(x86Saved) {
		return errors.New("it takes back more than the general registers")
	}
	return nil
}

// x86Room finds the end of debugCall128: behind its second INT3, with 1 in R12.
func x86Room(p *Program, f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	rest := x86BehindTrap(code, 1)
	if rest == nil {
		return errors.New("it has no INT3 with 1 in R12")
	}
	out.room.pc = rest[0].PC
	if out.room.delta, err = x86Leaves(f, out.room.pc, rest); err != nil {
		return err
	}
	if out.room.delta < x86Record+x86Layout.size+8 {
		return fmt.Errorf("its frame has %d bytes", out.room.delta-8)
	}
	return nil
}

// x86BehindTrap returns the instructions behind an INT3 before which R12 is set to a number.
func x86BehindTrap(code []inst, number int64) []inst {
	for n := 1; n < len(code)-1; n++ {
		i := x86Of(code[n])
		if i.Op == x86asm.INT && i.Args[0] == x86asm.Imm(3) && x86Puts(x86Of(code[n-1]), x86asm.R12, number) {
			return code[n+1:]
		}
	}
	return nil
}

// x86Puts reports whether the instruction sets a register to a constant.
func x86Puts(i x86asm.Inst, reg x86asm.Reg, v int64) bool {
	return i.Op == x86asm.MOV && x86Wide(i.Args[0]) == reg && i.Args[1] == x86asm.Imm(v) ||
		v == 0 && i.Op == x86asm.XOR && x86Wide(i.Args[0]) == reg && x86Wide(i.Args[1]) == reg
}

// x86Wide returns the register of which an instruction names the lower half.
func x86Wide(a x86asm.Arg) x86asm.Reg {
	r, ok := a.(x86asm.Reg)
	if ok && r >= x86asm.EAX && r <= x86asm.R15L {
		return r - x86asm.EAX + x86asm.RAX
	}
	return r
}

// x86OnStack returns the offset from the stack pointer at which an argument is.
func x86OnStack(a x86asm.Arg) (disp int64, ok bool) {
	m, ok := a.(x86asm.Mem)
	return m.Disp, ok && m.Base == x86asm.RSP && m.Index == 0
}

// x86Loads returns the register that the instruction loads, and the place on the stack from which.
func x86Loads(i x86asm.Inst) (reg x86asm.Reg, disp int64, ok bool) {
	reg, isReg := i.Args[0].(x86asm.Reg)
	disp, ok = x86OnStack(i.Args[1])
	return reg, disp, ok && isReg && i.Op == x86asm.MOV && i.DataSize == 64
}

// x86Keeps returns the register that the instruction stores on the stack.
func x86Keeps(i x86asm.Inst) (reg x86asm.Reg, ok bool) {
	reg, isReg := i.Args[1].(x86asm.Reg)
	_, ok = x86OnStack(i.Args[0])
	return reg, ok && isReg && i.Op == x86asm.MOV && i.DataSize == 64
}

// x86Leaves checks that the instructions take down the frame and return, and do nothing else.
func x86Leaves(f *pclntab.Func, pc uint64, code []inst) (delta uint64, err error) {
	if len(code) < 3 {
		return 0, errors.New("it ends before it returns")
	}
	free, pop, ret := x86Of(code[0]), x86Of(code[1]), x86Of(code[2])
	frame, ok := gocode.Inst{Inst: free}.Frees()
	pops := pop.Op == x86asm.POP && pop.Args[0] == x86asm.RBP
	if !ok || frame <= 0 || frame%8 != 0 || !pops || ret.Op != x86asm.RET || ret.Args[0] != nil {
		return 0, fmt.Errorf("it does not take down its frame and return, but does %v, %v, %v", free, pop, ret)
	}
	return uint64(frame) + 8, known(f, pc, uint64(frame)+8)
}

// x86Enter finds the Syscall6 that gets its arguments in registers, does not check how much stack is left, and
// notifies the scheduler of the system call.
func x86Enter(p *Program, f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	if is, err := p.notifies(code); !is {
		return err // the wrapper
	}
	kept := map[x86asm.Reg]bool{}
	for _, i := range code {
		if i.calls {
			break
		}
		if reg, ok := x86Keeps(x86Of(i)); ok {
			kept[reg] = true
		}
	}
	for _, reg := range x86Arguments {
		if !kept[reg] {
			return fmt.Errorf("it does not take an argument from %v", reg)
		}
	}
	out.enter, err = x86BehindPrologue(f, code)
	return err
}

// x86BehindPrologue finds where a function's frame stands, and checks that from there on the function's goroutine cannot
// be preempted.
func x86BehindPrologue(f *pclntab.Func, code []inst) (tail, error) {
	if len(code) < 4 {
		return tail{}, errors.New("it is too short")
	}
	push, point, frees := x86Of(code[0]), x86Of(code[1]), x86Of(code[2])
	pushes := push.Op == x86asm.PUSH && push.Args[0] == x86asm.RBP
	points := point.Op == x86asm.MOV && point.Args[0] == x86asm.RBP && point.Args[1] == x86asm.RSP
	frame, ok := gocode.Inst{Inst: frees}.Frees()
	if !pushes || !points || !ok || frame >= 0 || frame%8 != 0 {
		return tail{}, fmt.Errorf("it begins with %v, %v, %v", push, point, frees)
	}
	at := tail{code[3].PC, uint64(-frame) + 8}
	if err := known(f, at.pc, at.delta); err != nil {
		return tail{}, err
	}
	return at, unsafe(f, code[3:])
}
