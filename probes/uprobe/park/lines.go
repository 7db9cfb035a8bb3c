//go:build linux && amd64

package park

import (
	"iter"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// Line is where the code of a line of the source begins, and a goroutine can be parked before
// the line runs.
type Line struct {
	Place
	pclntab.Line
}

// Lines are such places of a function, by address. A line may have several, or none. Each is
// at an instruction of several bytes, at which a debugger's breakpoint can stand: what an
// instruction of one byte would do to it is said in package gocode.
func (p *Program) Lines(f *pclntab.Func) ([]Line, error) {
	code, err := p.code(f)
	if err != nil {
		return nil, err
	}
	var out []Line
	life := newLife(p, f, code)
	for l := range f.Lines() {
		if at, ok := p.beginOf(f, &l, life); ok {
			out = append(out, Line{at, l})
		}
	}
	return out, nil
}

// beginOf is where a stretch of a line's code begins, or the next place behind that which can
// do, as long as the stretch goes straight on.
func (p *Program) beginOf(f *pclntab.Func, l *pclntab.Line, life *life) (Place, bool) {
	first, _ := slices.BinarySearchFunc(life.code, l.Begin, func(i inst, pc uint64) int { return compare(i.PC, pc) })
	for _, i := range life.code[first:] {
		if i.PC >= l.End {
			break
		}
		if i.Len > 1 && p.before(f, i.PC, life) == nil {
			return Place{Address: i.PC, Next: i.PC, Function: f.Name}, true
		}
		if !i.straight() {
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

// before refuses where a goroutine cannot be parked before an instruction: what the wait does
// not keep must not be alive there.
func (p *Program) before(f *pclntab.Func, pc uint64, life *life) *RefusedError {
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

// Back is where a goroutine can be parked that has come back from a call to an address: there,
// or at the first place behind it.
func (p *Program) Back(pc uint64) (Place, bool) {
	f, ok := p.table.Find(pc)
	if !ok {
		return Place{}, false
	}
	code, err := p.code(f)
	if err != nil {
		return Place{}, false
	}
	return p.beginOf(f, &pclntab.Line{Begin: pc, End: f.End}, newLife(p, f, code))
}

// Calls are those of the line that an address is in, but for calls of Go's runtime.
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
		for _, i := range code {
			if i.PC < l.Begin || i.PC >= l.End || i.Op != x86asm.CALL || i.Len < 2 {
				continue
			}
			if name := p.callee(i); name == "" || name != "?" && !isRuntime(name) {
				out = append(out, i.PC)
			}
		}
	}
	return out
}

// Find is the function that an address is in, as the program was linked.
func (p *Program) Find(pc uint64) (*pclntab.Func, bool) { return p.table.Find(pc) }

// All are the program's functions. It may be used beside all else.
func (p *Program) All() iter.Seq[*pclntab.Func] { return p.table.All() }

// ByName is the function of that name, as the linker has it.
func (p *Program) ByName(name string) (*pclntab.Func, bool) { return p.table.ByName(name) }

// Mentions reports whether the program's table has the name of a function, though there may
// be no copy of it left.
func (p *Program) Mentions(name string) bool { return p.table.Mentions(name) }

// Begin is where a goroutine can be parked as a function is entered.
func (p *Program) Begin(f *pclntab.Func) (Place, *RefusedError) { return p.entry(f) }

// Bias is by how much addresses in the process are above those at which it was linked.
func (p *Program) Bias() uint64 { return p.bias }
