//go:build linux && (amd64 || arm64)

package park

import (
	"iter"
	"slices"

	"github.com/podstep/podstep/probes/pclntab"
)

// Line is a place where the code of a line of the source begins, and where a goroutine can be parked before the line
// runs.
type Line struct {
	Place
	pclntab.Line
}

// Lines returns these places of a function, by address. A line may have several, or none. Each is at an instruction
// of several bytes, at which a debugger's breakpoint can stand: Wide of package gocode has the reason.
func (p *Program) Lines(f *pclntab.Func) ([]Line, error) {
	code, err := p.code(f)
	if err != nil {
		return nil, err
	}
	var out []Line
	life := newLife(p, f, code)
	for l := range f.Lines() {
		for _, code := range entered(between(life.code, l.Begin, l.End)) {
			if at, ok := p.firstOf(f, code, life); ok {
				out = append(out, Line{at, l})
			}
		}
	}
	return out, nil
}

// between returns the instructions from one address up to another.
func between(code []inst, begin, end uint64) []inst {
	at := func(pc uint64) int {
		n, _ := slices.BinarySearchFunc(code, pc, func(i inst, pc uint64) int { return compare(i.PC, pc) })
		return n
	}
	return code[at(begin):at(end)]
}

// entered splits the code of a line where the processor comes to it: at its beginning, and behind each jump that is always
// taken, where it comes from elsewhere.
func entered(code []inst) (out [][]inst) {
	begin := 0
	for i := range code {
		if code[i].leaves() {
			out = append(out, code[begin:i+1])
			begin = i + 1
		}
	}
	return append(out, code[begin:])
}

// firstOf returns the first place of code at which a goroutine can be parked, up to the first jump or call.
func (p *Program) firstOf(f *pclntab.Func, code []inst, life *life) (Place, bool) {
	for n := range code {
		i := &code[n]
		if p.isa.breakable(i) && p.checkBefore(f, i.PC, life) == nil {
			return Place{Address: i.PC, Next: i.PC, Function: f.Name}, true
		}
		if !i.straight {
			break
		}
	}
	return Place{}, false
}

func compare(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// checkBefore refuses if a goroutine cannot be parked before an instruction, because flags or registers are live there
// that the wait does not keep.
func (p *Program) checkBefore(f *pclntab.Func, pc uint64, life *life) *RefusedError {
	if why := p.safe(pc); why != nil {
		return why
	}
	delta, ok := f.Delta(pc)
	switch {
	case !ok || delta != f.MaxDelta() || delta == 0:
		return refuse(Elsewhere, "at %#x in %s its frame does not stand", pc, f.Name)
	case life.flags(pc):
		return refuse(Elsewhere, "at %#x %s has flags that it uses later", pc, f.Name)
	case life.floats(pc):
		return refuse(Floats, "at %#x %s may have a floating-point number in a register", pc, f.Name)
	}
	return nil
}

// Back returns where a goroutine can be parked after a call that returns to an address: there, or at the first place
// behind it.
func (p *Program) Back(pc uint64) (Place, bool) {
	f, ok := p.table.Find(pc)
	if !ok {
		return Place{}, false
	}
	code, err := p.code(f)
	if err != nil {
		return Place{}, false
	}
	return p.firstOf(f, between(code, pc, f.End), newLife(p, f, code))
}

// Calls returns the addresses of the calls on the line of an address, without calls of Go's runtime.
func (p *Program) Calls(f *pclntab.Func, pc uint64) (out []uint64) {
	code, err := p.code(f)
	if err != nil {
		return nil
	}
	var line pclntab.Line
	for l := range f.Lines() {
		if pc >= l.Begin && pc < l.End {
			line = l
		}
	}
	for l := range f.Lines() {
		if l.Number != line.Number || l.File != line.File {
			continue
		}
		for n := range code {
			i := &code[n]
			if i.PC < l.Begin || i.PC >= l.End || !i.calls || !p.isa.breakable(i) {
				continue
			}
			if name := p.callee(i); name == "" || name != "?" && !isRuntime(name) {
				out = append(out, i.PC)
			}
		}
	}
	return out
}

// Find returns the function of an address, as the program was linked.
func (p *Program) Find(pc uint64) (*pclntab.Func, bool) { return p.table.Find(pc) }

// All yields the program's functions. It may run at the same time as the other methods.
func (p *Program) All() iter.Seq[*pclntab.Func] { return p.table.All() }

// ByName returns the function with that name, as the linker has it.
func (p *Program) ByName(name string) (*pclntab.Func, bool) { return p.table.ByName(name) }

// Mentions reports whether the program's table has the name of a function. No copy of the function may be left.
func (p *Program) Mentions(name string) bool { return p.table.Mentions(name) }

// Begin returns where a goroutine can be parked as a function is entered.
func (p *Program) Begin(f *pclntab.Func) (Place, *RefusedError) { return p.entry(f) }

// Bias returns how far addresses in the process are above those at which the program was linked.
func (p *Program) Bias() uint64 { return p.bias }
