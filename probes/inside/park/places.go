//go:build linux && (amd64 || arm64)

package park

import "github.com/podstep/podstep/probes/pclntab"

// Entry returns the place at which a function is entered: its frame is made, and its arguments are still in the
// registers in which they came.
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
	at, err := p.text.Entry(f)
	if err != nil {
		return Place{}, refuse(UnsafePoint, "podstep cannot find where %s is entered: %v", f.Name, err)
	}
	code, err := p.code(f)
	if err != nil {
		return Place{}, refuse(NoFunction, "%v", err)
	}
	life := newLife(p, f, code)
	n, known := life.at[at]
	i := &code[n]
	if _, goesOn := life.at[i.next]; !known || !goesOn {
		return Place{}, refuse(UnsafePoint, "%s does not begin as functions do", f.Name)
	}
	switch read, passed := life.takesFloats(i.next); {
	case life.flags(i.next):
		return Place{}, refuse(Elsewhere, "%s begins with flags that it uses later", f.Name)
	case read:
		return Place{}, refuse(Floats, "%s has floating-point numbers for arguments", f.Name)
	case !i.frames:
		return Place{}, refuse(UnsafePoint, "%s makes no frame of its own", f.Name)
	case passed:
		return Place{}, refuse(Floats, "%s may have floating-point numbers for arguments", f.Name)
	}
	return p.place(f, i)
}

// Exits returns the places at which a function is about to return, with its results in registers. Behind each place
// only the return follows. Results that are floating-point numbers would not be kept: returnsFloat finds them.
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
	code, err := p.code(f)
	if err != nil {
		return nil, refuse(NoFunction, "%v", err)
	}
	life := newLife(p, f, code)
	for _, at := range all {
		n, known := life.at[at]
		if !known {
			return nil, refuse(NotStraight, "%s does not return as functions do", f.Name)
		}
		place, why := p.place(f, &code[n])
		if why != nil {
			return nil, why
		}
		out = append(out, place)
	}
	if life.returnsFloat(0) {
		return nil, refuse(Floats, "%s returns a floating-point number", f.Name)
	}
	return out, nil
}
