//go:build linux && amd64

package park

import (
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// Entry is the place of a function behind which its frame is made and its arguments are still
// in the registers that they came in.
func (p *Program) Entry(function string) (Place, *RefusedError) {
	f, ok := p.table.ByName(function)
	if !ok {
		return Place{}, refuse(NoFunction, "the program has no function %s", function)
	}
	return p.entry(f)
}

func (p *Program) entry(f *pclntab.Func) (Place, *RefusedError) {
	if isRuntime(f.Name) {
		return Place{}, refuse(InRuntime, "%s belongs to Go's runtime", f.Name)
	}
	i, err := p.text.Entry(f)
	if err != nil {
		return Place{}, refuse(UnsafePoint, "podstep cannot find where %s is entered: %v", f.Name, err)
	}
	code, err := p.code(f)
	if err != nil {
		return Place{}, refuse(NoFunction, "%v", err)
	}
	rest := slices.IndexFunc(code, func(c inst) bool { return c.PC == i.Next() })
	switch {
	case rest < 0:
		return Place{}, refuse(UnsafePoint, "%s does not begin as functions do", f.Name)
	case usesFlags(code[rest:]):
		return Place{}, refuse(Elsewhere, "%s begins with flags that it uses later", f.Name)
	case usesFloats(code[rest:]):
		return Place{}, refuse(Floats, "%s has floating-point numbers for arguments", f.Name)
	}
	if i.Op != x86asm.SUB && i.Op != x86asm.ADD {
		return Place{}, refuse(UnsafePoint, "%s makes no frame of its own", f.Name)
	}
	return p.place(f, inst{i})
}

// Exits are the places at which a function is about to return, with its results in
// registers: each before the last instruction, which is the return. Results that are
// floating-point numbers would not be kept.
func (p *Program) Exits(function string) ([]Place, *RefusedError) {
	f, ok := p.table.ByName(function)
	if !ok {
		return nil, refuse(NoFunction, "the program has no function %s", function)
	}
	return p.exits(f)
}

func (p *Program) exits(f *pclntab.Func) (out []Place, why *RefusedError) {
	all, err := p.text.Exits(f)
	if err != nil {
		return nil, refuse(NotStraight, "podstep cannot find where %s returns: %v", f.Name, err)
	}
	for _, i := range all {
		place, why := p.place(f, inst{i})
		if why != nil {
			return nil, why
		}
		out = append(out, place)
	}
	return out, nil
}
