package memory

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/podstep/podstep/probes/memory"
)

// call returns the value of a call that only selects something.
func (v *variables) call(e *ast.CallExpr) (value, error) {
	if lit, ok := e.Fun.(*ast.FuncLit); ok && len(e.Args) == 0 {
		return v.unlessNil(lit)
	}
	switch fun := e.Fun.(type) {
	case *ast.Ident:
		if len(e.Args) != 1 {
			break
		}
		if fun.Name == "len" {
			return v.length(e.Args[0])
		}
		if t := types.Universe.Lookup(fun.Name); t != nil { // a conversion
			if _, ok := t.(*types.TypeName); ok {
				return v.valueOf(e.Args[0])
			}
		}
	case *ast.ArrayType: // a conversion
		return v.valueOf(e.Args[0])
	case *ast.SelectorExpr:
		if len(e.Args) != 0 {
			break
		}
		x, err := v.valueOf(fun.X)
		if err != nil {
			if errors.Is(err, none(memory.Missing)) { // a function of another package
				return x, none(memory.Calls)
			}
			return x, err
		}
		if member, ok := strings.CutPrefix(fun.Sel.Name, "Get"); ok && v.isMessage(x.typ) {
			x, err = v.member(x, member)
			x.zero = true
			return x, err
		}
		if fun.Sel.Name == "String" && v.names(x.typ) != nil {
			return x, nil
		}
	}
	return value{}, none(memory.Calls)
}

// isMessage reports whether a type is a message of the CRI, whose methods named
// GetX give the member X, or zero of nil.
func (v *variables) isMessage(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && strings.HasPrefix(n.Obj().Pkg().Path(), "k8s.io/cri-api/")
}

// unlessNil returns the value of a function literal that returns zero for a nil pointer, and
// otherwise an expression: func() T { if p == nil { return 0 }; return p.x }.
func (v *variables) unlessNil(lit *ast.FuncLit) (value, error) {
	if len(lit.Body.List) != 2 {
		return value{}, none(memory.Computed)
	}
	first, ok := lit.Body.List[0].(*ast.IfStmt)
	last, ok2 := lit.Body.List[1].(*ast.ReturnStmt)
	if !ok || !ok2 || len(last.Results) != 1 || len(first.Body.List) != 1 {
		return value{}, none(memory.Computed)
	}
	cond, ok := first.Cond.(*ast.BinaryExpr)
	ret, ok2 := first.Body.List[0].(*ast.ReturnStmt)
	if !ok || !ok2 || cond.Op != token.EQL || !isNil(cond.Y) || len(ret.Results) != 1 {
		return value{}, none(memory.Computed)
	}
	x, err := v.valueOf(last.Results[0])
	if err != nil {
		return x, err
	}
	zero, isLit := ret.Results[0].(*ast.BasicLit)
	x.zero = isLit && zero.Value == "0"
	if !isLit && !isNil(ret.Results[0]) {
		return x, none(memory.Computed)
	}
	return x, nil
}

func isNil(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "nil"
}

// length returns the length of a text, a slice or a map.
func (v *variables) length(e ast.Expr) (value, error) {
	x, err := v.valueOf(e)
	if err != nil {
		return x, err
	}
	switch u := x.typ.Underlying().(type) {
	case *types.Slice:
		x = x.part(memory.Len, word)
	case *types.Basic:
		if u.Kind() != types.String {
			return x, none(memory.Computed)
		}
		x = x.part(memory.Len, word)
	case *types.Map:
		// The first word of a map is the number of its entries.
		x.typ = types.NewPointer(types.Typ[types.Int])
		x = x.followed()
		x.hops[len(x.hops)-1].typ, x.hops[len(x.hops)-1].members = "map", []string{memory.Len}
		x.zero = true
	default:
		return x, none(memory.Computed)
	}
	x.typ = types.Typ[types.Int]
	return x, nil
}
