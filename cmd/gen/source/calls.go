package source

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// detour bounds how many functions between two steps are looked into.
const detour = 3

// calls finds, for every other step, the lines of f that lead to it. There are no types to go
// by: it knows a method by its name, and a function by its name and package. A namesake does no
// harm: the lines are looked up only for steps that did come from f.
func (f *function) calls(all map[string]*function) map[string][]int {
	out := map[string][]int{}
	for name, callee := range all {
		if callee == f {
			continue
		}
		lines := f.linesTo(callee.among(all))
		if len(lines) > 0 {
			out[name] = lines
		}
	}
	return out
}

// target is a function whose calls are looked for.
type target struct {
	*function
	// others are the packages of other steps' methods of the same name.
	others []string
}

func (f *function) among(all map[string]*function) *target {
	t := &target{function: f}
	for _, other := range all {
		if other.sym.Name == f.sym.Name && other.pkg != f.pkg {
			t.others = append(t.others, base(other.path))
		}
	}
	return t
}

// ofOther reports whether the variable on which a method is called has its name from the
// package of another such method, and not from this one's: allocationManager.AddPod is not
// podManager's AddPod.
func (t *target) ofOther(x ast.Expr) bool {
	id := nameOf(x)
	if id == nil {
		return false
	}
	after := func(pkg string) bool { return strings.Contains(strings.ToLower(id.Name), pkg) }
	return !after(base(t.path)) && slices.ContainsFunc(t.others, after)
}

func (f *function) linesTo(callee *target) []int {
	if callee.lit != nil {
		if callee.decl == f.decl && f.lit == nil {
			return f.linesToLiteral(callee)
		}
		return nil
	}
	if lines := f.references(f.node(), callee, true); len(lines) > 0 {
		return lines
	}
	if lines := f.references(f.node(), callee, false); len(lines) > 0 {
		return lines
	}
	return f.detours(callee)
}

// linesToLiteral finds where a function calls a literal that it has: at the literal, if it is
// called there, or else at its variable's calls.
func (f *function) linesToLiteral(callee *target) (lines []int) {
	f.eachCall(f.node(), func(call *ast.CallExpr) {
		id, ok := call.Fun.(*ast.Ident)
		if call.Fun == callee.lit || ok && id.Name == callee.step.Closure {
			lines = append(lines, f.line(call.Pos()))
		}
	})
	return tidy(lines)
}

// references finds where n calls the callee. If calls is not set, it finds where n hands the
// callee to another function, such as wait.Until.
func (f *function) references(n ast.Node, callee *target, calls bool) (lines []int) {
	f.eachCall(n, func(call *ast.CallExpr) {
		exprs := call.Args
		if calls {
			exprs = []ast.Expr{call.Fun}
		}
		for _, e := range exprs {
			if f.names(e, callee) {
				lines = append(lines, f.line(nameOf(e).Pos()))
			}
		}
	})
	return tidy(lines)
}

// nameOf returns the identifier by which an expression names a function, or nil.
func nameOf(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	}
	return nil
}

// names reports whether an expression in f names the callee.
func (f *function) names(e ast.Expr, callee *target) bool {
	id := nameOf(e)
	if id == nil || id.Name != callee.sym.Name {
		return false
	}
	sel, qualified := e.(*ast.SelectorExpr)
	switch {
	case !qualified:
		return callee.sym.Receiver == "" && callee.pkg == f.pkg
	case callee.sym.Receiver != "":
		return !f.imports(sel.X, "") && !callee.ofOther(sel.X)
	}
	return f.imports(sel.X, callee.path)
}

// imports reports whether an expression is the name under which f's file imports the package
// path; "" stands for any.
func (f *function) imports(e ast.Expr, path string) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	for _, spec := range f.file.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || path != "" && p != path {
			continue
		}
		if spec.Name != nil && spec.Name.Name == id.Name || spec.Name == nil && base(p) == id.Name {
			return true
		}
	}
	return false
}

// base returns the last element of an import path, which is the name of most packages.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// detours finds the lines that call functions of the same package which reach the callee in a few calls.
func (f *function) detours(callee *target) (lines []int) {
	if callee.pkg != f.pkg && !f.mentions(callee) {
		return nil
	}
	f.eachCall(f.node(), func(call *ast.CallExpr) {
		if f.reaches(call, callee, detour) {
			lines = append(lines, f.line(nameOf(call.Fun).Pos()))
		}
	})
	return tidy(lines)
}

// mentions reports whether f's package has the callee's name at all.
func (f *function) mentions(callee *target) bool {
	for _, file := range f.files {
		found := false
		ast.Inspect(file.ast, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == callee.sym.Name
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// reaches reports whether a call reaches the callee, directly or by further calls. It goes
// through functions of f's package whose names are unique there.
func (f *function) reaches(call *ast.CallExpr, callee *target, depth int) bool {
	id := nameOf(call.Fun)
	if id == nil || depth == 0 {
		return false
	}
	decls := f.decls[id.Name]
	if len(decls) != 1 || decls[0] == f.decl {
		return false
	}
	next := &function{pkg: f.pkg, step: f.step, file: f.fileOf(decls[0]), decl: decls[0]}
	if len(next.references(next.decl, callee, true)) > 0 {
		return true
	}
	found := false
	f.eachCall(next.decl, func(c *ast.CallExpr) { found = found || next.reaches(c, callee, depth-1) })
	return found
}

func (p *pkg) fileOf(d *ast.FuncDecl) *file {
	i := slices.IndexFunc(p.files, func(f *file) bool { return f.ast.FileStart <= d.Pos() && d.Pos() < f.ast.FileEnd })
	return p.files[i]
}

func (p *pkg) eachCall(n ast.Node, do func(*ast.CallExpr)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			do(call)
		}
		return true
	})
}

func tidy(lines []int) []int {
	slices.Sort(lines)
	return slices.Compact(lines)
}
