package source

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/weave"
)

// pkg is a package's source, as it is built for the kubelet's own system.
type pkg struct {
	path  string
	fset  *token.FileSet
	files []*file
	// decls are its functions and methods by bare name.
	decls map[string][]*ast.FuncDecl
}

type file struct {
	name  string
	text  []byte
	lines []string
	ast   *ast.File
}

func parse(importPath, dir string) (*pkg, error) {
	ctx := build.Default
	ctx.GOOS, ctx.GOARCH, ctx.CgoEnabled = "linux", "amd64", true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read package %s: %w", importPath, err)
	}
	p := &pkg{path: importPath, fset: token.NewFileSet(), decls: map[string][]*ast.FuncDecl{}}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := ctx.MatchFile(dir, name); err != nil || !ok {
			continue
		}
		if err := p.addFile(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *pkg) addFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	a, err := parser.ParseFile(p.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	p.files = append(p.files, &file{filepath.Base(name), text, strings.Split(string(text), "\n"), a})
	for _, d := range a.Decls {
		if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
			p.decls[fd.Name.Name] = append(p.decls[fd.Name.Name], fd)
		}
	}
	return nil
}

// function is a step's function.
type function struct {
	*pkg
	step *probes.Step
	sym  probes.Func
	file *file
	decl *ast.FuncDecl
	lit  *ast.FuncLit // if the step is a literal in decl
}

func (p *pkg) findFunction(step *probes.Step, sym probes.Func) (*function, error) {
	for _, f := range p.files {
		if f.name != path.Base(step.File) {
			continue
		}
		decl, lit, err := weave.Find(f.ast, step)
		if err != nil {
			return nil, err
		}
		if decl != nil {
			return &function{p, step, sym, f, decl, lit}, nil
		}
	}
	return nil, fmt.Errorf("%s has no function %s", step.File, step.Symbol)
}

func (f *function) line(at token.Pos) int { return f.fset.PositionFor(at, false).Line }

// node returns the function itself.
func (f *function) node() ast.Node {
	if f.lit != nil {
		return f.lit
	}
	return f.decl
}

// sum returns a sum that identifies the function's code.
func (f *function) sum() string {
	typ, body := f.decl.Type, f.decl.Body
	if f.lit != nil {
		typ, body = f.lit.Type, f.lit.Body
	}
	offset := func(p token.Pos) int { return f.fset.PositionFor(p, false).Offset }
	return probes.FunctionSum(f.file.text[offset(typ.Pos()):offset(body.End())])
}

// entry returns the text of the function, with the comment above it.
func (f *function) entry() source.Entry {
	first, last := f.line(f.node().Pos()), f.line(f.node().End())
	if f.lit == nil {
		first = f.line(f.decl.Name.Pos()) // Pos is that of the comment
	}
	e := source.Entry{Func: first}
	for first > 1 && strings.HasPrefix(strings.TrimSpace(f.file.lines[first-2]), "//") {
		first--
	}
	if last-first >= source.MaxLines {
		last, e.Cut = first+source.MaxLines-1, true
	}
	e.Line = first
	e.Text = strings.Join(f.file.lines[first-1:last], "\n")
	return e
}
