//go:build linux && (amd64 || arm64)

package park

import "strings"

// takesFloats reports whether a vector register that has an argument may be needed from an address on, which is behind
// the instruction that makes the function's frame: read by an instruction, or passed on as it came.
func (l *life) takesFloats(pc uint64) (read, passed bool) {
	named, taken := l.forward(l.at[pc])
	return named != 0, taken&l.arguments() != 0
}

// arguments returns the vector registers that may have arguments when the function is entered. Before the stack grows,
// the function saves all registers with arguments that it uses. If its stack never grows, any may have one.
func (l *life) arguments() (out vectors) {
	for n := range l.code {
		if !strings.HasPrefix(l.p.callee(&l.code[n]), "runtime.morestack") {
			continue
		}
		for n--; n >= 0 && l.code[n].straight; n-- {
			out |= l.code[n].reads
		}
		return out
	}
	out, _ = l.p.isa.floats()
	return out
}

// firstResult is the register of a function's first result that is a floating-point number.
const firstResult = vectors(1)

// mostCalls bounds how many functions, each called by the one before it, are looked at for what they return.
const mostCalls = 4

// returnsFloat reports whether the function returns a floating-point number, as far as its code shows that. calls is how
// many functions were looked at before. All returns have the same kinds of results.
func (l *life) returnsFloat(calls int) bool {
	returns := 0
	for n, i := range l.code {
		if !i.returns {
			continue
		}
		if returns++; !l.floatAt(n, calls) {
			return false
		}
	}
	return returns > 0
}

// floatAt reports whether there may be a floating-point number for a result at a return. Then on every way to it the
// code sets the register of the first one, or calls a function that returns one, or has it for an argument. A number that
// was made an integer is not returned itself. Of a call through a pointer that comes last it is not known what it
// returns; it is taken to return none.
func (l *life) floatAt(ret, calls int) bool {
	found, seen := false, map[int]bool{ret: true}
	for open := []int{ret}; len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if n == 0 {
			if l.arguments()&firstResult == 0 {
				return false
			}
			found = true
			continue
		}
		for _, before := range l.before[n] {
			i := &l.code[before]
			switch {
			case i.calls:
				if !l.callReturnsFloat(i, calls) {
					return false
				}
				found = true
			case i.sets&firstResult != 0:
				if !i.float {
					return false
				}
				found = true
			case i.truncates:
				return false
			case !seen[before]:
				seen[before] = true
				open = append(open, before)
			}
		}
	}
	return found
}

// callReturnsFloat is returnsFloat for a called function.
func (l *life) callReturnsFloat(call *inst, calls int) bool {
	if calls >= mostCalls || !l.mayReturnFloats(call) {
		return calls >= mostCalls && l.mayReturnFloats(call)
	}
	f, ok := l.p.table.Find(call.to)
	if !ok {
		return false
	}
	code, err := l.p.code(f)
	if err != nil {
		return true // its code is not known
	}
	callee := newLife(l.p, f, code)
	callee.floaty = l.floaty
	return callee.returnsFloat(calls + 1)
}
