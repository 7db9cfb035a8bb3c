//go:build linux && (amd64 || arm64)

package park

import (
	"debug/elf"
	"fmt"

	"github.com/podstep/podstep/probes/pclntab"
)

// inst is what parking needs to know of an instruction.
type inst struct {
	// PC is the instruction's address, as the program was linked. next is the address of the one behind it.
	PC, next uint64
	text     fmt.Stringer
	// word is the instruction itself, on arm64.
	word uint32
	// to is where a jump or call goes that has a fixed target; 0: it has none.
	to uint64
	// The processor calls a function, returns from one, or jumps in any case. dies: the program does not live behind it.
	// straight: the processor always goes on with the next instruction.
	calls, returns, jumps, dies, straight bool
	readsFlags                            bool
	setsFlags                             bool // all flags that Go's compiler reads
	// reads are the vector registers that it reads. sets are those that it sets whatever they had.
	reads, sets vectors
	// float: it makes a floating-point number. Some only copy memory through a vector register. truncates: it makes an
	// integer of the number in the register of the first result.
	float, truncates bool
	// frames: it moves the stack pointer, as the one does that makes a function's frame. looks: it reads where the stack
	// ends, as functions do that check it.
	frames, looks bool
}

// leaves reports whether the processor never goes on with the next instruction.
func (i *inst) leaves() bool { return i.jumps || i.returns || i.dies }

// vectors is a set of vector registers, one bit each.
type vectors uint32

// isa is what differs between the architectures of programs.
type isa interface {
	// decode decodes the instruction at an address.
	decode(pc uint64) (inst, error)
	// findPath finds the functions of the path, and checks that their instructions are the expected ones. The goroutine
	// runs no others.
	findPath(p *Program) (*path, error)
	// floats returns the vector registers that may have a number which is lost, and those in which a function returns
	// numbers.
	floats() (lost, results vectors)
	// pushed is how many bytes a call takes from the stack before the called function begins.
	pushed() int64
	// caller returns where a function's caller goes on, and with which stack pointer. link is the address to which the caller
	// returns, if that is not on the stack.
	caller(s *stack, f *pclntab.Func, a around) (pc, sp, link uint64, err error)
	// breakable reports whether a debugger's breakpoint can stand in place of an instruction.
	breakable(i *inst) bool
}

// isaOf returns the architecture of a program for a machine.
func isaOf(m elf.Machine, text pclntab.Section) (isa, error) {
	switch m {
	case elf.EM_X86_64:
		return x86(text), nil
	case elf.EM_AARCH64:
		return a64(text), nil
	}
	return nil, fmt.Errorf("it is built for %v, and goroutines can be parked on amd64 and arm64", m)
}

// code decodes a function to its end, with the padding behind it.
func (p *Program) code(f *pclntab.Func) (all []inst, err error) {
	for pc := f.Entry; pc < f.End; {
		i, err := p.isa.decode(pc)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		all = append(all, i)
		pc = i.next
	}
	return all, nil
}

// Breakable reports whether a debugger may put a breakpoint at an address, as the program was linked.
func (p *Program) Breakable(address uint64) bool {
	i, err := p.isa.decode(address)
	return err == nil && p.isa.breakable(&i)
}

// callee returns the name of the function that an instruction calls.
func (p *Program) callee(i *inst) string {
	if !i.calls || i.to == 0 {
		return ""
	}
	f, ok := p.table.Find(i.to)
	if !ok || f.Entry != i.to {
		return "?"
	}
	return f.Name
}
