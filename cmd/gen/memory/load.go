package memory

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/podstep/podstep/cmd/gen/kubelet"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/weave"
)

// source is the kubelet's source, as far as the layout of its types and the signatures of the
// steps' functions need it. Nothing else is kept or type-checked. So a few hundred packages are
// read instead of a thousand.
type source struct {
	// catalogue has the names of the kubelet's version.
	catalogue *probes.Catalogue
	fset      *token.FileSet
	// listed are the packages by import path, steps the steps by package.
	listed map[string]*listed
	steps  map[string][]*probes.Step
	// checked are the packages that were type-checked. A package that is being checked is nil.
	checked map[string]*types.Package
	// functions are the steps' functions, by step. texts are the methods named String, by
	// package and type.
	functions map[*probes.Step]*function
	texts     map[string]*ast.FuncDecl
	sizes     types.Sizes
	locks     []string // symbols of functions that take a lock
}

// listed is what go list reports of a package.
type listed struct {
	ImportPath, Name, Dir string
	GoFiles               []string
	ImportMap             map[string]string
	Module                *struct{ Version string }
}

// function is a step's function: its declaration, or the literal's in it.
type function struct {
	pkg *types.Package
	// recv is nil for a function, and for a literal.
	recv *ast.FieldList
	typ  *ast.FuncType
	body *ast.BlockStmt
	// name is the name of its signature in the package's scope.
	name    string
	literal bool
	outer   *ast.FuncDecl // the function that has the literal
}

// load reads the source of the steps' functions from the modules that the go command has for
// the directory, whose go.mod requires some.
func load(dir string, c *probes.Catalogue, required map[string]string) (*source, error) {
	s := &source{
		catalogue: c, fset: token.NewFileSet(), listed: map[string]*listed{}, steps: c.Packages(), checked: map[string]*types.Package{},
		functions: map[*probes.Step]*function{}, texts: map[string]*ast.FuncDecl{}, sizes: types.SizesFor("gc", "amd64"),
	}
	args := []string{"-deps", "-json=ImportPath,Name,Dir,GoFiles,ImportMap,Module"}
	for path := range s.steps {
		there, err := exists(dir, path, required)
		if err != nil {
			return nil, err
		}
		if there {
			args = append(args, path)
		}
	}
	all, err := kubelet.List[*listed](dir, args...)
	if err != nil {
		return nil, fmt.Errorf("list the kubelet's packages: %w", err)
	}
	for _, p := range all {
		s.listed[p.ImportPath] = p
	}
	for path := range s.steps {
		if s.listed[path] == nil {
			continue // this version of the kubelet does not have it
		}
		if _, err := s.check(path); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// requiredModules returns the modules that the go.mod of the directory requires, with their versions.
func requiredModules(dir string) (map[string]string, error) {
	path := filepath.Join(dir, "go.mod")
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's modules: %w", err)
	}
	f, err := modfile.ParseLax(path, b, nil)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's modules: %w", err)
	}
	out := map[string]string{f.Module.Mod.Path: ""}
	for _, r := range f.Require {
		out[r.Mod.Path] = r.Mod.Version
	}
	return out, nil
}

// exists reports whether a module of the kubelet has a package. If the go command were asked
// for a package or a module that does not exist, it might look for another version.
func exists(dir, path string, required map[string]string) (bool, error) {
	parts := strings.SplitN(path, "/", 3)
	module := strings.Join(parts[:2], "/")
	if _, ok := required[module]; !ok {
		return false, nil
	}
	modules, err := kubelet.List[listed](dir, "-m", "-json", module)
	if err != nil {
		return false, fmt.Errorf("find the module of %s: %w", path, err)
	}
	_, err = os.Stat(filepath.Join(append([]string{modules[0].Dir}, parts[2:]...)...))
	return err == nil, nil
}

// check type-checks the declarations of a package that the layout of values can depend on. It
// ignores errors: they show where they matter, as a type that is not valid.
func (s *source) check(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if p, ok := s.checked[path]; ok {
		return p, nil
	}
	s.checked[path] = nil
	l := s.listed[path]
	if l == nil {
		return nil, fmt.Errorf("package %s is not among the kubelet's", path)
	}
	var files []*ast.File
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(s.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse package %s: %w", path, err)
		}
		files = append(files, f)
	}
	if err := s.keep(path, files); err != nil {
		return nil, err
	}
	conf := types.Config{
		Importer: imports{s, l}, Sizes: s.sizes, IgnoreFuncBodies: true, FakeImportC: true,
		Error: func(error) {}, // most are about imports that are not needed any more
	}
	p, _ := conf.Check(path, s.fset, files, nil)
	s.checked[path] = p
	for _, step := range s.steps[path] {
		if f := s.functions[step]; f != nil {
			f.pkg = p
		}
	}
	return p, nil
}

// imports resolves the imports of a package.
type imports struct {
	*source
	of *listed
}

func (i imports) Import(path string) (*types.Package, error) {
	if mapped, ok := i.of.ImportMap[path]; ok {
		path = mapped
	}
	return i.check(path)
}

// keep removes everything from a package's files but types, constants and the signatures of the
// steps' functions. It also removes the imports that these do not need.
func (s *source) keep(path string, files []*ast.File) error {
	for _, step := range s.steps[path] {
		f, err := findFunction(step, files)
		if err != nil {
			return fmt.Errorf("find step %s: %w", step.Name, err)
		}
		if f != nil {
			s.functions[step] = f
		}
	}
	for _, file := range files {
		if len(s.steps[path]) > 0 {
			s.noteLocks(path, file)
		}
		var kept []ast.Decl
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				if d.Tok != token.VAR {
					kept = append(kept, d)
				}
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "String" && d.Body != nil {
					s.texts[path+"."+receiver(d)] = d
				}
			}
		}
		file.Decls = kept
	}
	// The signatures go into the file that declares them, under names of their own,
	// with the receiver as the first parameter.
	for i, step := range s.steps[path] {
		f := s.functions[step]
		if f == nil {
			continue
		}
		f.name = "podstep" + strconv.Itoa(i)
		typ := *f.typ
		params := &ast.FieldList{}
		if f.recv != nil {
			params.List = append(params.List, f.recv.List...)
		}
		params.List = append(params.List, f.typ.Params.List...)
		typ.Params = params
		for _, file := range files {
			if file.FileStart <= f.body.Pos() && f.body.Pos() < file.FileEnd {
				file.Decls = append(file.Decls, &ast.FuncDecl{Name: ast.NewIdent(f.name), Type: nameless(&typ)})
			}
		}
	}
	for _, file := range files {
		s.pruneImports(file)
	}
	return nil
}

// nameless returns a signature whose parameters and results have no names: some have names and
// some have not, and a name may be there twice.
func nameless(t *ast.FuncType) *ast.FuncType {
	strip := func(l *ast.FieldList) *ast.FieldList {
		if l == nil {
			return nil
		}
		out := &ast.FieldList{}
		for _, f := range l.List {
			for range max(1, len(f.Names)) {
				out.List = append(out.List, &ast.Field{Type: f.Type})
			}
		}
		return out
	}
	return &ast.FuncType{Func: t.Func, Params: strip(t.Params), Results: strip(t.Results)}
}

// pruneImports removes the imports from a file that nothing in it names any more.
func (s *source) pruneImports(file *ast.File) {
	used := map[string]bool{}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok {
					used[id.Name] = true
				}
			}
			return true
		})
	}
	var decls []ast.Decl
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			decls = append(decls, d)
			continue
		}
		var specs []ast.Spec
		for _, spec := range g.Specs {
			if im := spec.(*ast.ImportSpec); used[s.importName(im)] || im.Name != nil && im.Name.Name == "." {
				specs = append(specs, spec)
			}
		}
		if len(specs) > 0 {
			g.Specs = specs
			decls = append(decls, g)
		}
	}
	file.Decls = decls
}

// importName returns the name that an import has in its file.
func (s *source) importName(im *ast.ImportSpec) string {
	if im.Name != nil {
		return im.Name.Name
	}
	path, err := strconv.Unquote(im.Path.Value)
	if l := s.listed[path]; err == nil && l != nil {
		return l.Name
	}
	return filepath.Base(path) // a package of another name, of the standard library's own
}

// findFunction finds the function of a step among a package's files. It returns nil if this version of
// the kubelet does not have the function.
func findFunction(step *probes.Step, files []*ast.File) (*function, error) {
	for _, file := range files {
		decl, lit, err := weave.Find(file, step)
		switch {
		case err != nil && step.Closure == "":
			return nil, err
		case err != nil:
			return nil, nil // there is no such literal
		case lit != nil:
			return &function{typ: lit.Type, body: lit.Body, literal: true, outer: decl}, nil
		case decl != nil:
			return &function{recv: decl.Recv, typ: decl.Type, body: decl.Body}, nil
		}
	}
	return nil, nil
}

// receiver returns the name of the type that a method belongs to; empty for a function.
func receiver(fd *ast.FuncDecl) string {
	if fd.Recv == nil {
		return ""
	}
	t := fd.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return "?" // generic: no step is one
}
