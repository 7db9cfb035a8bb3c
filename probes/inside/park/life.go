//go:build linux && (amd64 || arm64)

package park

import "github.com/podstep/podstep/probes/pclntab"

// life finds the registers and flags that are live at an instruction and that parking would destroy: the flags, and
// the vector registers, but X15 on amd64. In doubt it takes them to be live.
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
	i := &l.code[n]
	if t, in := l.at[i.to]; in && !i.calls {
		out = append(out, t)
	}
	if !i.leaves() && n+1 < len(l.code) {
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
		i := &l.code[n]
		switch {
		case i.readsFlags:
			return true
		case i.setsFlags:
			return false
		}
		all := l.next(n)
		if i.jumps && len(all) == 0 {
			return i.to == 0 // a jump through a table: the code there is not known
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
	lost, _ := l.p.isa.floats()
	for open := []state{{from, lost}}; len(open) > 0; {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		if s.left&^seen[s.n] == 0 {
			continue
		}
		seen[s.n] |= s.left
		i := &l.code[s.n]
		named |= i.reads & s.left
		left := s.left &^ i.sets
		next := l.next(s.n)
		if i.calls || len(next) == 0 {
			if !i.dies {
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
			i := &l.code[before]
			if i.calls {
				if l.mayReturnFloats(i) {
					_, results := l.p.isa.floats()
					set |= results
				}
				continue
			}
			if i.float {
				set |= i.sets
			}
			open = append(open, before)
		}
	}
	return set
}

// mayReturnFloats reports whether the called function uses floating-point numbers at all.
func (l *life) mayReturnFloats(call *inst) bool {
	if call.to == 0 {
		return false
	}
	known, ok := l.floaty[call.to]
	if ok {
		return known
	}
	f, ok := l.p.table.Find(call.to)
	if !ok || isRuntime(f.Name) {
		return false
	}
	code, err := l.p.code(f)
	known = err != nil
	for _, i := range code {
		known = known || i.float
	}
	l.floaty[call.to] = known
	return known
}
