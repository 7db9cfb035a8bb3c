package memory

import (
	"cmp"
	"errors"
	"go/ast"
	"go/constant"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// quiet writes the condition under which a call is no event: the catalogue's expression with a
// name in place of each value that a probe reads, and how these values are read. If one of them
// cannot be read, it writes the reason.
func (g *generator) quiet(step *probes.Step, v *variables) {
	if step.Quiet == "" {
		return
	}
	e, err := parser.ParseExpr(cmp.Or(step.QuietMemory, step.Quiet))
	if err != nil {
		panic(err) // it was woven
	}
	c := condition{variables: v, names: map[string]string{}}
	e, err = c.rewrite(e)
	var why none
	if errors.As(err, &why) {
		g.line(step, memory.Quiet, memory.When, memory.Value{None: memory.Reason(why)})
		return
	}
	g.line(step, memory.Quiet, memory.When, memory.Value{Words: source0(e)})
	for i, f := range c.forms {
		g.line(step, memory.Quiet, operand(i), memory.Value{Form: f})
	}
}

// condition is an expression whose operands are being found.
type condition struct {
	*variables
	names map[string]string // by the source of the operand
	forms []*memory.Form
}

func operand(i int) string { return "v" + strconv.Itoa(i) }

// rewrite puts names in place of values, and the values of constants in place of their names.
func (c *condition) rewrite(e ast.Expr) (ast.Expr, error) {
	var err error
	switch e := e.(type) {
	case *ast.ParenExpr:
		e.X, err = c.rewrite(e.X)
		return e, err
	case *ast.BasicLit:
		return e, nil
	case *ast.UnaryExpr:
		if e.Op != token.NOT {
			return nil, none(memory.Computed)
		}
		e.X, err = c.rewrite(e.X)
		return e, err
	case *ast.BinaryExpr:
		if (e.Op == token.EQL || e.Op == token.NEQ) && isNil(e.Y) {
			return c.value(e)
		}
		if x := typeOf(e.X); x != nil {
			e.X, err = c.errorType(x)
			return e, err
		}
		if e.X, err = c.rewrite(e.X); err == nil {
			e.Y, err = c.rewrite(e.Y)
		}
		return e, err
	}
	if lit := c.constant(e); lit != nil {
		return lit, nil
	}
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if t := errorTypeOf[source0(call.Fun)]; t != "" {
			x, err := c.errorType(call.Args[0])
			return &ast.BinaryExpr{X: x, Op: token.EQL, Y: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(t)}}, err
		}
	}
	return c.value(e)
}

// errorTypeOf are the functions that report whether an error is of a type.
var errorTypeOf = map[string]string{
	"nestedpendingoperations.IsAlreadyExists": "nestedpendingoperations.alreadyExistsError",
}

// typeOf returns err for fmt.Sprintf("%T", err); nil for other expressions.
func typeOf(e ast.Expr) ast.Expr {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 2 || source0(call.Fun) != "fmt.Sprintf" || source0(call.Args[0]) != `"%T"` {
		return nil
	}
	return call.Args[1]
}

// errorType returns a name that stands for an error's type.
func (c *condition) errorType(e ast.Expr) (ast.Expr, error) {
	text := source0(e)
	name, ok := c.names[text]
	if !ok {
		x, err := c.valueOf(e)
		if err != nil {
			return nil, err
		}
		f, err := x.formAs(memory.Interface)
		if err != nil {
			return nil, err
		}
		name = operand(len(c.forms))
		c.forms, c.names[text] = append(c.forms, f), name
	}
	return ast.NewIdent(name), nil
}

// value returns a name that stands for an expression's value.
func (c *condition) value(e ast.Expr) (ast.Expr, error) {
	text := source0(e)
	name, ok := c.names[text]
	if !ok {
		f, err := c.formOf(e)
		if err != nil {
			return nil, err
		}
		f.Names = nil // it is compared with numbers
		name = operand(len(c.forms))
		c.forms, c.names[text] = append(c.forms, f), name
	}
	return ast.NewIdent(name), nil
}

// constant returns the value of a constant of the function's package, or of a package that it
// imports; nil: the expression is none.
func (c *condition) constant(e ast.Expr) ast.Expr {
	var obj types.Object
	switch e := e.(type) {
	case *ast.Ident:
		obj = c.fn.pkg.Scope().Lookup(e.Name)
	case *ast.SelectorExpr:
		pkg, ok := e.X.(*ast.Ident)
		if !ok {
			return nil
		}
		for _, p := range c.fn.pkg.Imports() {
			if p.Name() == pkg.Name {
				obj = p.Scope().Lookup(e.Sel.Name)
			}
		}
	}
	k, ok := obj.(*types.Const)
	if !ok {
		return nil
	}
	switch k.Val().Kind() {
	case constant.String:
		return &ast.BasicLit{Kind: token.STRING, Value: k.Val().ExactString()}
	case constant.Int:
		return &ast.BasicLit{Kind: token.INT, Value: k.Val().ExactString()}
	}
	return nil
}

// source0 returns an expression as Go writes it, on one line.
func source0(e ast.Expr) string {
	var b strings.Builder
	if err := format.Node(&b, token.NewFileSet(), e); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// err writes where the function's error is, if it returns one.
func (g *generator) err(step *probes.Step, v *variables) {
	n := v.results.Len()
	if n == 0 || !types.Identical(v.results.At(n-1).Type(), types.Universe.Lookup("error").Type()) {
		return
	}
	x := value{typ: v.results.At(n - 1).Type(), from: "error", amd64: v.amd64Out[n-1], arm64: v.arm64Out[n-1]}
	f, err := x.formAs(memory.Interface)
	if err != nil {
		panic(err) // it is in no floating-point register
	}
	g.line(step, memory.Error, "error", memory.Value{Form: f})
}

// symbol writes which function literal the step is.
func (g *generator) symbol(step *probes.Step, fn *function) {
	if !fn.literal {
		return
	}
	lines := g.fset.Position(fn.typ.Pos()).Line - g.fset.Position(fn.outer.Pos()).Line
	g.line(step, memory.Symbol, step.Closure, memory.Value{Words: "." + fn.number() + " +" + strconv.Itoa(lines)})
}

// number returns the name of a literal after that of the function around it, as the compiler
// makes it: literals are counted within the function or literal that has them.
func (fn *function) number() string {
	var path []string
	var count func(body ast.Node, prefix string) bool
	count = func(body ast.Node, prefix string) (found bool) {
		n := 0
		ast.Inspect(body, func(node ast.Node) bool {
			lit, ok := node.(*ast.FuncLit)
			if !ok || found {
				return !found
			}
			n++
			path = append(path, prefix+strconv.Itoa(n))
			if lit.Body == fn.body || count(lit.Body, "") {
				found = true
				return false
			}
			path = path[:len(path)-1]
			return false
		})
		return found
	}
	count(fn.outer.Body, "func")
	return strings.Join(path, ".")
}
