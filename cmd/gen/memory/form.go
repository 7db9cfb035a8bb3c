package memory

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"github.com/podstep/podstep/probes/memory"
)

// form returns the form of an expression.
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
		x, err := v.valueOf(e)
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
		p, err := v.valueOf(left.X)
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

// nilness returns the form for whether a pointer, interface, slice, map or function is nil: its
// first word tells.
func (v *variables) nilness(b *ast.BinaryExpr) (*memory.Form, error) {
	x, err := v.valueOf(b.X)
	if err != nil {
		return nil, err
	}
	kind := memory.IsNil
	if b.Op == token.NEQ {
		kind = memory.NotNil
	}
	return x.formAs(kind)
}

// written returns the form of a value as the agent shows it.
func (v *variables) written(x value) (*memory.Form, error) {
	if t := strings.TrimPrefix(shortType(x.typ), "*"); t == "v1.Time" || t == "time.Time" {
		return x.followed().formAs(memory.Time)
	}
	if names := v.names(x.typ); names != nil {
		f, err := x.formAs(numbers[x.typ.Underlying().(*types.Basic).Kind()])
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
			return x.formAs(memory.Duration)
		case u.Kind() == types.Invalid:
			return nil, fmt.Errorf("%s is no type that was checked", x.typ)
		case u.Info()&types.IsFloat != 0:
			return nil, none(memory.Float)
		case v.hasText(x.typ):
			return nil, none(memory.Text)
		}
		return x.formAs(numbers[u.Kind()])
	}
	return nil, none(memory.Structured)
}

var numbers = map[types.BasicKind]memory.Kind{
	types.String: memory.String, types.Bool: memory.Bool,
	types.Int: memory.Int64, types.Int8: memory.Int8, types.Int16: memory.Int16, types.Int32: memory.Int32, types.Int64: memory.Int64,
	types.Uint: memory.Uint64, types.Uint8: memory.Uint8, types.Uint16: memory.Uint16, types.Uint32: memory.Uint32, types.Uint64: memory.Uint64, types.Uintptr: memory.Uint64,
}

// formAs returns the form of a value of a kind.
func (x value) formAs(kind memory.Kind) (*memory.Form, error) {
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
