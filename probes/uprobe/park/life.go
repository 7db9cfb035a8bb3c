//go:build linux && amd64

package park

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// life finds the registers and flags that are live at an instruction and that parking would destroy: the flags, and
// the vector registers X0 to X14. In doubt it takes them to be live.
//
// One case cannot be seen: one call through a pointer returns a floating-point number in a register, and the next
// call takes it from there, without an instruction in between that names the register.
type life struct {
	p      *Program
	f      *pclntab.Func
	code   []inst
	at     map[uint64]int // indexes in code, by address
	before map[int][]int  // the instructions from which each instruction is reached
	floaty map[uint64]bool
}

func newLife(p *Program, f *pclntab.Func, code []inst) *life {
	l := &life{p: p, f: f, code: code, at: map[uint64]int{}, before: map[int][]int{}, floaty: map[uint64]bool{}}
	for n, i := range code {
		l.at[i.PC] = n
	}
	for n := range code {
		for _, next := range l.next(n) {
			l.before[next] = append(l.before[next], n)
		}
	}
	return l
}

// next returns the instructions with which the function goes on behind instruction n. It leaves out jumps to targets
// outside the code.
func (l *life) next(n int) (out []int) {
	i := l.code[n]
	if to, ok := i.Target(); ok && i.Op != x86asm.CALL {
		if t, in := l.at[to]; in {
			out = append(out, t)
		}
	}
	switch i.Op {
	case x86asm.JMP, x86asm.RET, x86asm.UD2, x86asm.UD1, x86asm.INT:
		return out
	}
	if n+1 < len(l.code) {
		out = append(out, n+1)
	}
	return out
}

// flags reports whether flags are read that were set before an address.
func (l *life) flags(pc uint64) bool {
	seen := map[int]bool{}
	return l.anyFlags(l.at[pc], seen)
}

func (l *life) anyFlags(n int, seen map[int]bool) bool {
	for !seen[n] {
		seen[n] = true
		i := l.code[n]
		switch {
		case readsFlags(i):
			return true
		case setsFlags(i):
			return false
		}
		all := l.next(n)
		if i.Op == x86asm.JMP && len(all) == 0 {
			_, known := i.Target()
			return !known // a jump through a table: the code there is not known
		}
		if len(all) == 0 {
			return false
		}
		for _, other := range all[1:] {
			if l.anyFlags(other, seen) {
				return true
			}
		}
		n = all[0]
	}
	return false
}

func readsFlags(i inst) bool {
	name := i.Op.String()
	switch i.Op {
	case x86asm.ADC, x86asm.SBB, x86asm.RCL, x86asm.RCR, x86asm.PUSHF, x86asm.PUSHFD, x86asm.PUSHFQ, x86asm.LAHF, x86asm.CMC, x86asm.JMP:
		return i.Op != x86asm.JMP
	case x86asm.JCXZ, x86asm.JECXZ, x86asm.JRCXZ:
		return false
	}
	return strings.HasPrefix(name, "J") || strings.HasPrefix(name, "SET") || strings.HasPrefix(name, "CMOV") || strings.HasPrefix(name, "FCMOV")
}

// setsFlags reports whether an instruction sets all flags that Go's compiler reads.
func setsFlags(i inst) bool {
	switch i.Op {
	case x86asm.CMP, x86asm.TEST, x86asm.ADD, x86asm.SUB, x86asm.AND, x86asm.OR, x86asm.XOR, x86asm.NEG, x86asm.XADD, x86asm.CMPXCHG,
		x86asm.UCOMISD, x86asm.UCOMISS, x86asm.COMISD, x86asm.COMISS, x86asm.CALL, x86asm.RET:
		return true
	}
	return false
}

// vectors is a set of vector registers, one bit each.
type vectors uint16

// kept is X15, which is always zero and is zero again after a wait.
const kept = vectors(1) << 15

func bitOf(a x86asm.Arg) vectors {
	if r, ok := a.(x86asm.Reg); ok && r >= x86asm.X0 && r <= x86asm.X15 {
		return 1 << (r - x86asm.X0)
	}
	return 0
}

// floats reports whether a vector register that was set before an address may be needed.
func (l *life) floats(pc uint64) bool {
	n := l.at[pc]
	named, taken := l.forward(n)
	return named != 0 || taken != 0 && l.backward(n)&taken != 0
}

// forward returns two sets of registers. named are those that instructions read before they are set again. taken are
// those that reach a call, a return or a jump through a table unchanged.
func (l *life) forward(from int) (named, taken vectors) {
	type state struct {
		n    int
		left vectors
	}
	seen := map[int]vectors{}
	for open := []state{{from, ^kept}}; len(open) > 0; {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if s.left&^seen[s.n] == 0 {
			continue
		}
		seen[s.n] |= s.left
		i := l.code[s.n]
		reads, sets := vectorsOf(i)
		named |= reads & s.left
		left := s.left &^ sets
		next := l.next(s.n)
		if i.Op == x86asm.CALL || len(next) == 0 {
			if i.Op != x86asm.UD2 && i.Op != x86asm.INT {
				taken |= left
			}
			continue
		}
		for _, to := range next {
			open = append(open, state{to, left})
		}
	}
	return named, taken
}

// backward returns the registers that may have a number at an instruction, set since the last calls before it.
func (l *life) backward(from int) (set vectors) {
	seen := map[int]bool{}
	for open := []int{from}; len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		for _, before := range l.before[n] {
			if seen[before] {
				continue
			}
			seen[before] = true
			i := l.code[before]
			if i.Op == x86asm.CALL {
				if l.mayReturnFloats(i) {
					set |= 1<<8 - 1
				}
				continue
			}
			if isFloat(i) {
				_, sets := vectorsOf(i)
				set |= sets
			}
			open = append(open, before)
		}
	}
	return set
}

// mayReturnFloats reports whether the called function uses floating-point numbers at all.
func (l *life) mayReturnFloats(call inst) bool {
	to, ok := call.Target()
	if !ok {
		return false
	}
	known, ok := l.floaty[to]
	if ok {
		return known
	}
	f, ok := l.p.table.Find(to)
	if !ok || isRuntime(f.Name) {
		return false
	}
	code, err := l.p.code(f)
	known = err != nil
	for _, i := range code {
		known = known || isFloat(i)
	}
	l.floaty[to] = known
	return known
}

// vectorsOf returns the vector registers that an instruction reads, and those that it sets whatever they had.
func vectorsOf(i inst) (reads, sets vectors) {
	first := bitOf(i.Args[0])
	for n, arg := range i.Args {
		if n > 0 && arg != nil {
			reads |= bitOf(arg)
		}
	}
	switch name := i.Op.String(); {
	case first == 0:
	case i.Op == x86asm.XORPS || i.Op == x86asm.PXOR || i.Op == x86asm.XORPD:
		if i.Args[0] == i.Args[1] {
			return 0, first
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

// isFloat reports whether an instruction makes a floating-point number. Some only copy memory through a vector
// register.
func isFloat(i inst) bool {
	if bitOf(i.Args[0])&^kept == 0 {
		return false
	}
	switch i.Op {
	case x86asm.MOVUPS, x86asm.MOVUPD, x86asm.MOVAPS, x86asm.MOVDQU, x86asm.MOVDQA:
		return bitOf(i.Args[1])&^kept != 0
	}
	return true
}
