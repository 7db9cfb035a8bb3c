package memory

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/podstep/podstep/probes/memory"
)

// member returns a member of a struct, or of the struct that a pointer points at. The member
// may be in an embedded struct.
func (v *variables) member(x value, name string) (value, error) {
	obj, index, _ := types.LookupFieldOrMethod(x.typ, true, v.fn.pkg, name)
	field, ok := obj.(*types.Var)
	if !ok {
		return x, none(memory.Missing)
	}
	for _, i := range index {
		x = x.followed()
		s, ok := x.typ.Underlying().(*types.Struct)
		if !ok {
			return x, fmt.Errorf("%s is no struct", x.typ)
		}
		x = x.part(s.Field(i).Name(), v.sizes.Offsetsof(fieldsOf(s))[i])
		x.typ = s.Field(i).Type()
	}
	x.typ = field.Type()
	return x, nil
}

// part returns the part of the value at an offset.
func (x value) part(name string, offset int64) value {
	x.offset += offset
	if n := len(x.hops); n > 0 {
		x.hops = slices.Clone(x.hops)
		x.hops[n-1].members = append(slices.Clip(x.hops[n-1].members), name)
	} else {
		x.from += "." + name
	}
	return x
}

// followed returns what a pointer points at, and any other value as it is.
func (x value) followed() value {
	p, ok := x.typ.Underlying().(*types.Pointer)
	if !ok {
		return x
	}
	if n := len(x.hops); n > 0 {
		x.hops = slices.Clone(x.hops)
		x.hops[n-1].offset = x.offset
	} else {
		x.amd64, x.arm64 = x.amd64.moved(x.offset), x.arm64.moved(x.offset)
	}
	x.hops = append(x.hops, hop{typ: shortType(p.Elem())})
	x.typ, x.offset = p.Elem(), 0
	return x
}

// moved returns the place of the value's part at an offset.
func (p place) moved(by int64) place {
	out := place{stack: p.stack + by, result: p.result}
	if p.regs != nil {
		out.regs = map[int64]int{}
		for at, r := range p.regs {
			out.regs[at-by] = r
		}
	}
	return out
}

// shortType returns a type with the last part of its package's path.
func shortType(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}
