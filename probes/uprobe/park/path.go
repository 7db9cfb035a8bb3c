//go:build linux && amd64

package park

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// path is the way of a parked goroutine: into the system call, and back through the ends of two functions to where it
// was. All addresses are as the program was linked.
type path struct {
	// enter is in syscall.Syscall6, where its frame stands and its arguments are still in registers. From there on
	// the goroutine cannot be preempted. At the function's entry it could be, and would then wait on another thread.
	enter tail
	// room is where Syscall6 returns to: the end of debugCall128. Its frame has room for a callee's words, and for
	// the wait's record.
	room tail
	// registers is where debugCall128 returns to: the end of debugCallV2, which restores the registers from its
	// frame.
	registers tail
	slots     map[x86asm.Reg]int64 // where in that frame each register is
}

// tail is an address from which a goroutine runs to the end of a function whose frame stands.
type tail struct {
	pc    uint64
	delta uint64 // the size of the function's frame, with the saved frame pointer
}

// saved are the registers that debugCallV2 restores. The stack pointer is not among them. debugCallV2 keeps the frame
// pointer a second time above the frame, as every function does.
var saved = []x86asm.Reg{
	x86asm.RAX, x86asm.RBX, x86asm.RCX, x86asm.RDX, x86asm.RSI, x86asm.RDI, x86asm.RBP, x86asm.R8,
	x86asm.R9, x86asm.R10, x86asm.R11, x86asm.R12, x86asm.R13, x86asm.R14, x86asm.R15,
}

// arguments are the registers in which Go passes the first seven integers.
var arguments = []x86asm.Reg{
	x86asm.RAX, x86asm.RBX, x86asm.RCX, x86asm.RDI, x86asm.RSI, x86asm.R8, x86asm.R9,
}

// findPath finds the functions of the path, and checks that their instructions are the expected ones. The goroutine
// runs no others.
func (p *Program) findPath() (*path, error) {
	out := &path{}
	for i, name := range p.table.Names() {
		var find func(*pclntab.Func, *path) error
		switch string(name) {
		case "runtime.debugCallV2":
			find = p.findRegisters
		case "debugCall128", "runtime.debugCall128":
			find = p.findRoom
		case "syscall.Syscall6":
			// A wrapper for callers in assembly has the same name.
			find = p.findEnter
		default:
			continue
		}
		f, ok := p.table.Function(i)
		if !ok {
			continue
		}
		if err := find(f, out); err != nil {
			return nil, fmt.Errorf("%s is not as it is known: %w", f.Name, err)
		}
	}
	for name, pc := range map[string]uint64{
		"runtime.debugCallV2": out.registers.pc, "runtime.debugCall128": out.room.pc, "syscall.Syscall6": out.enter.pc,
	} {
		if pc == 0 {
			return nil, fmt.Errorf("%s is not in it", name)
		}
	}
	return out, nil
}

// findRegisters finds where debugCallV2 restores the registers: behind R12 = 16, INT3.
func (p *Program) findRegisters(f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	rest := behindTrap(code, 16)
	if rest == nil {
		return errors.New("it has no INT3 with 16 in R12")
	}
	out.registers.pc, out.slots = rest[0].PC, map[x86asm.Reg]int64{}
	for len(rest) > 0 {
		reg, disp, ok := rest[0].loads()
		if !ok {
			break
		}
		out.slots[reg], rest = disp, rest[1:]
	}
	if out.registers.delta, err = leaves(f, out.registers.pc, rest); err != nil {
		return err
	}
	taken := map[int64]bool{}
	for _, reg := range saved {
		disp, ok := out.slots[reg]
		if !ok || disp < 0 || disp%8 != 0 || disp > int64(out.registers.delta)-16 || taken[disp] {
			return fmt.Errorf("it does not take %v back from a place of its own in its frame", reg)
		}
		taken[disp] = true
	}
	if len(out.slots) != len(saved) {
		return errors.New("it takes back more than the general registers")
	}
	return nil
}

// findRoom finds the end of debugCall128: behind its second INT3, with 1 in R12.
func (p *Program) findRoom(f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	rest := behindTrap(code, 1)
	if rest == nil {
		return errors.New("it has no INT3 with 1 in R12")
	}
	out.room.pc = rest[0].PC
	if out.room.delta, err = leaves(f, out.room.pc, rest); err != nil {
		return err
	}
	if out.room.delta < recordEnd+8 {
		return fmt.Errorf("its frame has %d bytes", out.room.delta-8)
	}
	return nil
}

// behindTrap returns the instructions behind an INT3 before which R12 is set to a number.
func behindTrap(code []inst, number int64) []inst {
	for i := 1; i < len(code)-1; i++ {
		if code[i].isTrap() && code[i-1].sets(x86asm.R12, number) {
			return code[i+1:]
		}
	}
	return nil
}

// leaves checks that the instructions take down the frame and return, and do nothing else.
func leaves(f *pclntab.Func, pc uint64, code []inst) (delta uint64, err error) {
	if len(code) < 3 {
		return 0, errors.New("it ends before it returns")
	}
	frame, ok := code[0].Frees()
	pops := code[1].Op == x86asm.POP && code[1].Args[0] == x86asm.RBP
	if !ok || frame <= 0 || frame%8 != 0 || !pops || code[2].Op != x86asm.RET || code[2].Args[0] != nil {
		return 0, fmt.Errorf("it does not take down its frame and return, but does %v, %v, %v", code[0].Inst, code[1].Inst, code[2].Inst)
	}
	if known, ok := f.Delta(pc); !ok || known != frame+8 {
		return 0, fmt.Errorf("its frame has %d bytes, and the runtime takes it to have %d", frame+8, known)
	}
	return uint64(frame) + 8, nil
}

// findEnter finds the Syscall6 that gets its arguments in registers, does not check how much stack is left, and
// notifies the scheduler of the system call.
func (p *Program) findEnter(f *pclntab.Func, out *path) error {
	code, err := p.code(f)
	if err != nil {
		return err
	}
	kept := map[x86asm.Reg]bool{}
	calls := []string{}
	for _, i := range code {
		if reg, _, ok := i.stores(); ok && len(calls) == 0 {
			kept[reg] = true
		}
		if name := p.callee(i); name != "" {
			calls = append(calls, name)
		}
	}
	if len(calls) == 0 || calls[0] != "runtime.entersyscall" {
		return nil // the wrapper
	}
	if calls[len(calls)-1] != "runtime.exitsyscall" {
		return fmt.Errorf("it calls %s", strings.Join(calls, ", "))
	}
	for _, reg := range arguments {
		if !kept[reg] {
			return fmt.Errorf("it does not take an argument from %v", reg)
		}
	}
	out.enter, err = behindPrologue(f, code)
	return err
}

// behindPrologue finds where a function's frame stands, and checks that from there on the function's goroutine cannot
// be preempted.
func behindPrologue(f *pclntab.Func, code []inst) (tail, error) {
	if len(code) < 4 {
		return tail{}, errors.New("it is too short")
	}
	pushes := code[0].Op == x86asm.PUSH && code[0].Args[0] == x86asm.RBP
	points := code[1].Op == x86asm.MOV && code[1].Args[0] == x86asm.RBP && code[1].Args[1] == x86asm.RSP
	frame, ok := code[2].Frees()
	if !pushes || !points || !ok || frame >= 0 || frame%8 != 0 {
		return tail{}, fmt.Errorf("it begins with %v, %v, %v", code[0].Inst, code[1].Inst, code[2].Inst)
	}
	at := tail{code[3].PC, uint64(-frame) + 8}
	if known, ok := f.Delta(at.pc); !ok || uint64(known) != at.delta {
		return tail{}, fmt.Errorf("its frame has %d bytes, and the runtime takes it to have %d", at.delta, known)
	}
	for _, i := range code[3:] {
		if f.Safe(i.PC) {
			return tail{}, fmt.Errorf("its goroutine can be preempted at %#x", i.PC)
		}
	}
	return at, nil
}

// callee returns the name of the function that an instruction calls.
func (p *Program) callee(i inst) string {
	target, ok := i.Target()
	if !ok || i.Op != x86asm.CALL {
		return ""
	}
	f, ok := p.table.Find(target)
	if !ok || f.Entry != target {
		return "?"
	}
	return f.Name
}
