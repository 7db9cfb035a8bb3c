package memory

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/podstep/podstep/probes/memory"
)

// none is the reason why an expression has no form.
type none memory.Reason

func (n none) Error() string { return string(n) }

// variables are the values that an expression on one side of a step can name.
type variables struct {
	*source
	fn *function
	// exit says that results can be named, too.
	exit bool

	amd64In, amd64Out, arm64In, arm64Out []place
	params, results                      *types.Tuple
}

// variables returns the variables of a step's function.
func (s *source) variables(fn *function, exit bool) (*variables, error) {
	obj, ok := fn.pkg.Scope().Lookup(fn.name).(*types.Func)
	if !ok {
		return nil, errors.New("its signature was not checked")
	}
	sig := obj.Signature()
	v := &variables{source: s, fn: fn, exit: exit, params: sig.Params(), results: sig.Results()}
	v.amd64In, v.amd64Out = amd64.places(s.sizes, v.params, v.results)
	v.arm64In, v.arm64Out = arm64.places(s.sizes, v.params, v.results)
	return v, nil
}

// value is an expression's value: its place and its type.
type value struct {
	typ  types.Type
	from string
	// amd64 and arm64 have the place of the argument or result. offset is the value's offset in
	// it or, after hops, in the object that the last hop points at.
	amd64, arm64 place
	offset       int64
	hops         []hop
	zero         bool // a nil pointer on the way gives zero
	element      bool // it begins at an element of a list
}

type hop struct {
	typ     string
	members []string
	offset  int64
}

// valueOf returns the value of an expression.
func (v *variables) valueOf(e ast.Expr) (value, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return v.valueOf(e.X)
	case *ast.Ident:
		return v.variable(e.Name)
	case *ast.SelectorExpr:
		x, err := v.valueOf(e.X)
		if err != nil {
			return x, err
		}
		return v.member(x, e.Sel.Name)
	case *ast.CallExpr:
		return v.call(e)
	case *ast.IndexExpr:
		return value{}, none(memory.LooksUp)
	}
	return value{}, none(memory.Computed)
}

// variable returns an argument or result, by its name in woven code.
func (v *variables) variable(name string) (value, error) {
	if i, ok := place0(v.fn.typ.Results, name, "podstepR"); ok && v.exit {
		return value{typ: v.results.At(i).Type(), from: name, amd64: v.amd64Out[i], arm64: v.arm64Out[i]}, nil
	}
	n := 0
	if v.fn.recv != nil {
		if i, ok := place0(v.fn.recv, name, ""); ok {
			return v.argument(i, name)
		}
		n = 1
	}
	if i, ok := place0(v.fn.typ.Params, name, ""); ok {
		return v.argument(n+i, name)
	}
	if v.fn.literal {
		return value{}, none(memory.Captured)
	}
	return value{}, none(memory.Missing)
}

func (v *variables) argument(i int, name string) (value, error) {
	if v.exit && assigned(v.fn.body, name) {
		return value{}, none(memory.Changed)
	}
	return value{typ: v.params.At(i).Type(), from: name, amd64: v.amd64In[i], arm64: v.arm64In[i]}, nil
}

// place0 returns the place of a name in a list. Those without a name count by the name that the
// weaver gives them.
func place0(l *ast.FieldList, name, nameless string) (int, bool) {
	if l == nil {
		return 0, false
	}
	n := 0
	for _, f := range l.List {
		names := f.Names
		if len(names) == 0 {
			names = []*ast.Ident{ast.NewIdent("_")}
		}
		for _, id := range names {
			if id.Name == name && name != "_" || id.Name == "_" && nameless != "" && name == fmt.Sprint(nameless, n) {
				return n, true
			}
			n++
		}
	}
	return 0, false
}

// assigned reports whether a function may change an argument of its own.
func assigned(body *ast.BlockStmt, name string) (is bool) {
	root := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == name
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				is = is || n.Tok != token.DEFINE && root(l)
			}
		case *ast.IncDecStmt:
			is = is || root(n.X)
		case *ast.UnaryExpr:
			is = is || n.Op == token.AND && root(n.X)
		}
		return true
	})
	return is
}
