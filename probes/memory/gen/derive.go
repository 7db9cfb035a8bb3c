package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/memory"
)

// none is why an expression has no form.
type none memory.Reason

func (n none) Error() string { return string(n) }

// variables are what an expression of one side of a step can name.
type variables struct {
	*source
	fn *function
	// exit: results can be named too.
	exit bool

	amd64In, amd64Out, arm64In, arm64Out []place
	params, results                      *types.Tuple
}

// variables are those of a step's function.
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

// value is an expression's value: where it lies, and of what type it is.
type value struct {
	typ  types.Type
	from string
	// amd64 and arm64 have the place of the argument or result, and offset is how
	// far into it the value is, or into what the last hop points at.
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

// find gives the value of an expression.
func (v *variables) find(e ast.Expr) (value, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return v.find(e.X)
	case *ast.Ident:
		return v.variable(e.Name)
	case *ast.SelectorExpr:
		x, err := v.find(e.X)
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

// variable gives an argument or result, by the name that woven code has for it.
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

// place0 is the place of a name in a list, where those without one count by the
// name that the weaver gives them.
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

// member gives a member of a struct, or of what a pointer to one points at,
// through what it embeds.
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

// part is a part of the value, so many bytes into it.
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

// followed is what a pointer points at; any other value as it is.
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

// moved is the place of what is so many bytes into the value.
func (p place) moved(by int64) place {
	out := place{stack: p.stack + by}
	if p.regs != nil {
		out.regs = map[int64]int{}
		for at, r := range p.regs {
			out.regs[at-by] = r
		}
	}
	return out
}

// shortType is a type with the last part of its package's path.
func shortType(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// call gives the value of those calls that only select something.
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
				return v.find(e.Args[0])
			}
		}
	case *ast.ArrayType: // a conversion
		return v.find(e.Args[0])
	case *ast.SelectorExpr:
		if len(e.Args) != 0 {
			break
		}
		x, err := v.find(fun.X)
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

// unlessNil gives the value of a function literal that gives zero for a nil
// pointer and else an expression: func() T { if p == nil { return 0 }; return p.x }.
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
	x, err := v.find(last.Results[0])
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

// length gives the length of a text, a slice or a map.
func (v *variables) length(e ast.Expr) (value, error) {
	x, err := v.find(e)
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
		// The first word of a map is how many there are in it.
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

// form gives the form of an expression.
func (v *variables) form(expr string) memory.Value {
	e, err := parser.ParseExpr(expr)
	if err != nil {
		return memory.Value{None: memory.Computed}
	}
	f, err := v.formOf(e)
	var why none
	switch {
	case errors.As(err, &why):
		return memory.Value{None: memory.Reason(why)}
	case err != nil:
		panic(fmt.Sprintf("%s: %v", expr, err))
	}
	return memory.Value{Form: f}
}

func (v *variables) formOf(e ast.Expr) (*memory.Form, error) {
	if p, ok := e.(*ast.ParenExpr); ok {
		return v.formOf(p.X)
	}
	b, ok := e.(*ast.BinaryExpr)
	if !ok {
		x, err := v.find(e)
		if err != nil {
			return nil, err
		}
		return v.written(x)
	}
	switch {
	case (b.Op == token.EQL || b.Op == token.NEQ) && isNil(b.Y):
		return v.nilness(b)
	case b.Op == token.LAND:
		// p != nil && p.flag
		left, ok := b.X.(*ast.BinaryExpr)
		if !ok || left.Op != token.NEQ || !isNil(left.Y) {
			break
		}
		p, err := v.find(left.X)
		if err != nil {
			return nil, err
		}
		f, err := v.formOf(b.Y)
		if err != nil || f.From != p.from {
			return nil, none(memory.Computed)
		}
		f.Zero = true
		return f, nil
	}
	return nil, none(memory.Computed)
}

// nilness is whether a pointer, interface, slice, map or function is nil: its
// first word tells.
func (v *variables) nilness(b *ast.BinaryExpr) (*memory.Form, error) {
	x, err := v.find(b.X)
	if err != nil {
		return nil, err
	}
	kind := memory.IsNil
	if b.Op == token.NEQ {
		kind = memory.NotNil
	}
	return x.at(kind)
}

// written is the form of a value as the agent shows it.
func (v *variables) written(x value) (*memory.Form, error) {
	if t := strings.TrimPrefix(shortType(x.typ), "*"); t == "v1.Time" || t == "time.Time" {
		return x.followed().at(memory.Time)
	}
	if names := v.names(x.typ); names != nil {
		f, err := x.at(numbers[x.typ.Underlying().(*types.Basic).Kind()])
		if err == nil {
			f.Names = names
		}
		return f, err
	}
	switch u := x.typ.Underlying().(type) {
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Basic); ok {
			return v.written(x.followed())
		}
	case *types.Interface:
		return nil, none(memory.Text)
	case *types.Basic:
		switch {
		case shortType(x.typ) == "time.Duration":
			return x.at(memory.Duration)
		case u.Kind() == types.Invalid:
			return nil, fmt.Errorf("%s is no type that was checked", x.typ)
		case u.Info()&types.IsFloat != 0:
			return nil, none(memory.Float)
		case v.hasText(x.typ):
			return nil, none(memory.Text)
		}
		return x.at(numbers[u.Kind()])
	}
	return nil, none(memory.Structured)
}

var numbers = map[types.BasicKind]memory.Kind{
	types.String: memory.String, types.Bool: memory.Bool,
	types.Int: memory.Int64, types.Int8: memory.Int8, types.Int16: memory.Int16, types.Int32: memory.Int32, types.Int64: memory.Int64,
	types.Uint: memory.Uint64, types.Uint8: memory.Uint8, types.Uint16: memory.Uint16, types.Uint32: memory.Uint32, types.Uint64: memory.Uint64, types.Uintptr: memory.Uint64,
}

// at is the form of a value of a kind.
func (x value) at(kind memory.Kind) (*memory.Form, error) {
	f := &memory.Form{Kind: kind, Zero: x.zero, From: x.from}
	first := x.offset
	if len(x.hops) > 0 {
		first = 0
	}
	var ok, ok2 bool
	f.AMD64, ok = x.amd64.part(first)
	f.ARM64, ok2 = x.arm64.part(first)
	if !ok || !ok2 {
		return nil, none(memory.Float)
	}
	if x.element {
		f.AMD64.In, f.ARM64.In = memory.Element, memory.Element
	}
	for i, h := range x.hops {
		if i == len(x.hops)-1 {
			h.offset = x.offset
		}
		f.Hops = append(f.Hops, memory.Hop{Type: h.typ, Members: strings.Join(h.members, "."), Offset: int(h.offset)})
	}
	return f, nil
}

// hasText reports whether a type has a method that makes its text.
func (v *variables) hasText(t types.Type) bool { return v.text(t) != nil }

func (v *variables) text(t types.Type) *ast.FuncDecl {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return nil
	}
	return v.texts[n.Obj().Pkg().Path()+"."+n.Obj().Name()]
}

// names are the texts of an enumeration, by number; nil: the type is none, or one
// whose texts are not to be read off its method String.
func (v *variables) names(t types.Type) map[int64]string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || v.text(t) == nil || n.Obj().Pkg() == nil {
		return nil
	}
	if b, ok := n.Underlying().(*types.Basic); !ok || b.Info()&types.IsInteger == 0 || shortType(t) == "time.Duration" {
		return nil
	}
	scope := n.Obj().Pkg().Scope()
	if strings.HasPrefix(n.Obj().Pkg().Path(), "k8s.io/cri-api/") {
		return protoNames(scope, n)
	}
	return switchNames(scope, v.text(t))
}

// protoNames are those of an enumeration of protobuf: its constants' names.
func protoNames(scope *types.Scope, n *types.Named) map[int64]string {
	out := map[int64]string{}
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		text, ok2 := strings.CutPrefix(name, n.Obj().Name()+"_")
		if !ok || !ok2 || !types.Identical(c.Type(), n) {
			continue
		}
		if i, exact := constant.Int64Val(c.Val()); exact {
			out[i] = text
		}
	}
	return out
}

// switchNames are those that a method gives that is a switch over constants.
func switchNames(scope *types.Scope, text *ast.FuncDecl) map[int64]string {
	if len(text.Body.List) == 0 {
		return nil
	}
	sw, ok := text.Body.List[0].(*ast.SwitchStmt)
	if !ok || len(text.Recv.List[0].Names) == 0 {
		return nil
	}
	if tag, ok := sw.Tag.(*ast.Ident); !ok || tag.Name != text.Recv.List[0].Names[0].Name {
		return nil
	}
	out := map[int64]string{}
	for _, s := range sw.Body.List {
		clause := s.(*ast.CaseClause)
		if clause.List == nil {
			continue // a number that none of the constants has
		}
		if len(clause.Body) != 1 {
			return nil
		}
		ret, ok := clause.Body[0].(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 1 {
			return nil
		}
		name, ok := ret.Results[0].(*ast.BasicLit)
		if !ok || strings.ContainsAny(name.Value, " \t") {
			return nil
		}
		for _, e := range clause.List {
			id, ok := e.(*ast.Ident)
			if !ok {
				return nil
			}
			c, ok := scope.Lookup(id.Name).(*types.Const)
			if !ok {
				return nil
			}
			if i, exact := constant.Int64Val(c.Val()); exact {
				out[i] = strings.Trim(name.Value, `"`)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
