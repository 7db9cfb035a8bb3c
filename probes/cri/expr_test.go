package cri

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"testing"
)

// eval returns the value of an expression of the catalogue over what the woven function has in scope. It knows as
// much of Go as the expressions of the CRI steps need.
func eval(t *testing.T, expr string, env map[string]any) any {
	t.Helper()
	e, err := parser.ParseExpr(expr)
	if err != nil {
		t.Fatalf("parse %q: %v", expr, err)
	}
	v := scope{t, expr, env}.value(e)
	if !v.IsValid() {
		return nil
	}
	return v.Interface()
}

type scope struct {
	t    *testing.T
	expr string
	env  map[string]any
}

func (s scope) value(e ast.Expr) reflect.Value {
	switch e := e.(type) {
	case *ast.Ident:
		switch e.Name {
		case "nil":
			return reflect.Value{}
		case "true", "false":
			return reflect.ValueOf(e.Name == "true")
		}
		v, ok := s.env[e.Name]
		if !ok {
			s.t.Fatalf("%q: %s is not in scope", s.expr, e.Name)
		}
		return reflect.ValueOf(v)
	case *ast.CallExpr:
		return s.call(e)
	case *ast.BinaryExpr:
		if !isNil(s.value(e.Y)) {
			s.t.Fatalf("%q: compares with something else than nil", s.expr)
		}
		return reflect.ValueOf(isNil(s.value(e.X)) == (e.Op == token.EQL))
	case *ast.IndexExpr:
		m := map[bool]string{}
		for _, kv := range e.X.(*ast.CompositeLit).Elts {
			kv := kv.(*ast.KeyValueExpr)
			m[s.value(kv.Key).Bool()] = s.value(kv.Value).String()
		}
		return reflect.ValueOf(m[s.value(e.Index).Bool()])
	}
	s.t.Fatalf("%q: no reading of %T", s.expr, e)
	return reflect.Value{}
}

func (s scope) call(e *ast.CallExpr) reflect.Value {
	if f, ok := e.Fun.(*ast.Ident); ok && f.Name == "int" {
		return s.value(e.Args[0]).Convert(reflect.TypeFor[int]())
	}
	sel := e.Fun.(*ast.SelectorExpr)
	m := s.value(sel.X).MethodByName(sel.Sel.Name)
	if !m.IsValid() {
		s.t.Fatalf("%q: no method %s", s.expr, sel.Sel.Name)
	}
	return m.Call(nil)[0]
}

func isNil(v reflect.Value) bool {
	if !v.IsValid() {
		return true
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Map, reflect.Slice:
		return v.IsNil()
	}
	return false
}
