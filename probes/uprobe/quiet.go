//go:build linux

package uprobe

import (
	"go/ast"
	"go/token"
	"strconv"
)

// holds reports whether a condition is true of values by name. It reports false if the condition depends on a value
// that is missing.
func holds(e ast.Expr, values map[string]any) bool {
	v, _ := evaluate(e, values).(bool)
	return v
}

// evaluate returns an expression's value: a bool, a string or an int64. It is nil if it cannot be known.
func evaluate(e ast.Expr, values map[string]any) any {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return evaluate(e.X, values)
	case *ast.Ident:
		return values[e.Name]
	case *ast.BasicLit:
		return literal(e)
	case *ast.UnaryExpr:
		if v, ok := evaluate(e.X, values).(bool); ok && e.Op == token.NOT {
			return !v
		}
	case *ast.BinaryExpr:
		return operate(e.Op, evaluate(e.X, values), evaluate(e.Y, values))
	}
	return nil
}

func literal(l *ast.BasicLit) any {
	switch l.Kind {
	case token.INT:
		if n, err := strconv.ParseInt(l.Value, 0, 64); err == nil {
			return n
		}
	case token.STRING:
		if s, err := strconv.Unquote(l.Value); err == nil {
			return s
		}
	}
	return nil
}

func operate(op token.Token, x, y any) any {
	switch op {
	case token.LAND:
		if x == false || y == false {
			return false
		}
		return both(x, y)
	case token.LOR:
		if x == true || y == true {
			return true
		}
		return either(x, y)
	}
	if x == nil || y == nil {
		return nil
	}
	switch op {
	case token.EQL:
		return x == y
	case token.NEQ:
		return x != y
	}
	a, ok := x.(int64)
	b, ok2 := y.(int64)
	if !ok || !ok2 {
		return nil
	}
	switch op {
	case token.ADD:
		return a + b
	case token.SUB:
		return a - b
	case token.LSS:
		return a < b
	case token.LEQ:
		return a <= b
	case token.GTR:
		return a > b
	case token.GEQ:
		return a >= b
	}
	return nil
}

func both(x, y any) any {
	if x == true && y == true {
		return true
	}
	return nil
}

func either(x, y any) any {
	if x == false && y == false {
		return false
	}
	return nil
}
