//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"github.com/go-delve/delve/service/api"

	"github.com/podstep/podstep/agent/redact"
)

// longestExpression bounds an expression, in bytes.
const longestExpression = 1000

// expression is what a person asks for. A value that stands alone has lost the structure that it was in, so each step of
// the way to it is looked at. Conversions and calls are refused: they read any memory as any type. So is an operation on a
// value that is not shown, since its result says something about the value.
type expression struct {
	text string
	// names are the variables of the function whose texts are shown.
	names []string
	eval  func(expression string) (*api.Variable, error)
}

// read evaluates the expression. It returns the value, and how it is shown.
func (e *expression) read() (*api.Variable, how, error) {
	if len(e.text) > longestExpression {
		return nil, how{}, fmt.Errorf("the expression is too long: at most %d bytes are evaluated", longestExpression)
	}
	t, err := parser.ParseExpr(e.text)
	if err != nil {
		return nil, how{}, fmt.Errorf("read the expression: %w", err)
	}
	h := how{texts: redact.ShowText, member: true} // worked out of what is shown
	if isPath(t) {
		h, err = e.origin(t)
	} else {
		err = e.check(t)
	}
	if err != nil {
		return nil, how{}, err
	}
	v, err := e.eval(e.text)
	return v, h, err
}

// of returns a part of the expression as it was written.
func (e *expression) of(t ast.Expr) string { return e.text[t.Pos()-1 : t.End()-1] }

// isPath reports whether an expression leads to a value through members and elements.
func isPath(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
		return true
	case *ast.ParenExpr:
		return isPath(t.X)
	case *ast.UnaryExpr:
		return t.Op == token.AND
	}
	return false
}

// check returns an error unless all that an operation works with is shown.
func (e *expression) check(t ast.Expr) error {
	switch t := t.(type) {
	case *ast.BasicLit:
		return nil
	case *ast.ParenExpr:
		if !isPath(t) {
			return e.check(t.X)
		}
	case *ast.UnaryExpr:
		if t.Op != token.AND {
			return e.check(t.X)
		}
	case *ast.BinaryExpr:
		if isNil(t.X) || isNil(t.Y) {
			return errors.Join(e.checkNil(t.X), e.checkNil(t.Y))
		}
		return errors.Join(e.check(t.X), e.check(t.Y))
	case *ast.CallExpr:
		if f, ok := t.Fun.(*ast.Ident); ok && (f.Name == "len" || f.Name == "cap") && len(t.Args) == 1 && isPath(t.Args[0]) {
			_, err := e.origin(t.Args[0])
			return err
		}
	case *ast.Ident:
		if slices.Contains([]string{"nil", "true", "false"}, t.Name) {
			return nil
		}
	}
	if !isPath(t) {
		return e.refuse(t)
	}
	h, err := e.origin(t)
	if err != nil {
		return err
	}
	v, err := e.eval(e.of(t))
	if err != nil {
		return err
	}
	if _, whole := show(v, h); !whole {
		return fmt.Errorf("%s is not shown as a whole, and podstep works nothing out of it (docs/secrets.md)", e.of(t))
	}
	return nil
}

func (e *expression) refuse(t ast.Expr) error {
	return fmt.Errorf("podstep does not evaluate %s: it evaluates variables, their members and elements, operators, len and cap, and no conversions or calls (docs/secrets.md)", e.of(t))
}

func isNil(t ast.Expr) bool {
	id, ok := t.(*ast.Ident)
	return ok && id.Name == "nil"
}

// checkNil is check for a value of which only is asked whether it is nil.
func (e *expression) checkNil(t ast.Expr) error {
	if isNil(t) {
		return nil
	}
	_, err := e.origin(t)
	return err
}

// origin returns how the value at the end of a path is shown.
func (e *expression) origin(t ast.Expr) (how, error) {
	switch t := t.(type) {
	case *ast.ParenExpr:
		return e.origin(t.X)
	case *ast.StarExpr:
		return e.origin(t.X)
	case *ast.TypeAssertExpr:
		return e.origin(t.X)
	case *ast.UnaryExpr:
		if t.Op == token.AND {
			return e.origin(t.X)
		}
	case *ast.Ident:
		return e.variable(t), nil
	case *ast.SelectorExpr:
		return e.member(t)
	case *ast.IndexExpr:
		return e.element(t)
	case *ast.SliceExpr:
		return e.part(t)
	}
	return how{}, e.refuse(t)
}

// variable returns how a variable is shown. A register may have any part of a text.
func (e *expression) variable(t *ast.Ident) how {
	v, err := e.eval(t.Name)
	if err != nil {
		return how{} // a package
	}
	return howNamed(v, e.names)
}

// howNamed returns how a variable of a function is shown that has some variables whose texts are shown.
func howNamed(v *api.Variable, names []string) how {
	h := how{sealed: v.Flags&api.VariableCPURegister != 0}
	if v.Kind == reflect.String && slices.Contains(names, v.Name) {
		h.texts = redact.ShowText
	}
	return h
}

func (e *expression) member(t *ast.SelectorExpr) (how, error) {
	if _, ofPackage := t.X.(*ast.BasicLit); ofPackage {
		return how{}, nil
	}
	h, err := e.origin(t.X)
	if err != nil || h.sealed {
		return h, err
	}
	v, err := e.eval(e.of(t.X))
	if err != nil {
		if _, ofPackage := t.X.(*ast.Ident); ofPackage {
			return how{}, nil
		}
		return how{}, err
	}
	v = pointee(v)
	if isSealed(v) {
		return how{sealed: true}, nil
	}
	if owner := ownerOf([]*api.Variable{v}, t.Sel.Name); owner != nil {
		return memberOf(owner, t.Sel.Name), nil
	}
	return how{}, nil
}

// element returns how an element of a list or a map is shown. That of a text is a letter, or a byte.
func (e *expression) element(t *ast.IndexExpr) (how, error) {
	h, err := e.origin(t.X)
	if err != nil || h.sealed {
		return h, err
	}
	if err := e.check(t.Index); err != nil {
		return how{}, err
	}
	v, err := e.eval(e.of(t.X))
	if err != nil {
		return how{}, err
	}
	v = pointee(v)
	h.sealed, h.member = isLetterList(v), false
	if v.Kind == reflect.Map && h.texts != 0 {
		key, err := e.eval(e.of(t.Index))
		if err != nil {
			return how{}, err
		}
		h.name = key.Value
	}
	return h, nil
}

func (e *expression) part(t *ast.SliceExpr) (how, error) {
	h, err := e.origin(t.X)
	if err != nil || h.sealed {
		return h, err
	}
	for _, bound := range []ast.Expr{t.Low, t.High, t.Max} {
		if bound == nil {
			continue
		}
		if err := e.check(bound); err != nil {
			return how{}, err
		}
	}
	v, err := e.eval(e.of(t.X))
	if err != nil {
		return how{}, err
	}
	h.sealed = isLetterList(pointee(v))
	return h, nil
}

// pointee follows pointers and interfaces to the value behind.
func pointee(v *api.Variable) *api.Variable {
	for range 4 {
		if v.Kind != reflect.Pointer && v.Kind != reflect.Interface || len(v.Children) == 0 {
			break
		}
		v = &v.Children[0]
	}
	return v
}

// isLetterList reports whether a value is a text, or a list of the letters or bytes of one.
func isLetterList(v *api.Variable) bool {
	return v.Kind == reflect.String || (v.Kind == reflect.Slice || v.Kind == reflect.Array) && isLetters(elemOf(v.RealType))
}

// ownerOf returns the structure that has a member: one of all, or one that is embedded there.
func ownerOf(all []*api.Variable, name string) *api.Variable {
	var within []*api.Variable
	for _, v := range all {
		for i := range v.Children {
			c := &v.Children[i]
			if v.Kind == reflect.Struct && c.Name == name {
				return v
			}
			if c.Name == c.Type[strings.LastIndexAny(c.Type, "./*")+1:] {
				within = append(within, pointee(c))
			}
		}
	}
	if len(within) == 0 {
		return nil
	}
	return ownerOf(within, name)
}
