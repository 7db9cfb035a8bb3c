package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// code is the Go code of the repository.
type code struct {
	files map[string]*ast.File
	// makers are the functions that make a text of their parameters en and zh, by the
	// directory's name and their own, with the place of en. A selector such as words.Text
	// finds them by the name of the import.
	makers map[string]int
	// texts are constants, by directory and name.
	texts map[string]string
}

func parse(dirs map[string][]string) (*code, error) {
	c := &code{files: map[string]*ast.File{}, makers: map[string]int{}, texts: map[string]string{}}
	set := token.NewFileSet()
	for place, paths := range dirs {
		for _, p := range paths {
			if filepath.Ext(p) != ".go" {
				continue
			}
			f, err := parser.ParseFile(set, p, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			c.files[p] = f
			c.declare(place, f)
		}
	}
	return c, nil
}

func (c *code) declare(place string, f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if at := paramsOf(d.Type); at >= 0 && d.Recv == nil {
				c.makers[path.Base(place)+"."+d.Name.Name] = at
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if d.Tok != token.CONST || !ok {
					continue
				}
				for i, value := range v.Values {
					if s, ok := c.text(place, value); ok {
						c.texts[place+"."+v.Names[i].Name] = s
					}
				}
			}
		}
	}
}

// paramsOf is the place of the parameter en, which zh follows, or -1.
func paramsOf(f *ast.FuncType) int {
	var names []string
	for _, p := range f.Params.List {
		for _, n := range p.Names {
			names = append(names, n.Name)
		}
	}
	for i := 0; i+1 < len(names); i++ {
		if names[i] == "en" && names[i+1] == "zh" {
			return i
		}
	}
	return -1
}

// sentences finds the texts in a file of Go: literals with En and Zh, calls of functions
// that make a text, and the errors of the command line.
func (c *code) sentences(place, file string) (found []sentence) {
	f := c.files[file]
	if f == nil {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if en, zh := field(n, "En"), field(n, "Zh"); en != nil && zh != nil {
				found = c.add(found, place, en, zh)
			}
		case *ast.CallExpr:
			if at, ok := c.makers[callee(place, n)]; ok && at+1 < len(n.Args) {
				found = c.add(found, place, n.Args[at], n.Args[at+1])
			}
			if isError(n) && (place == commands || strings.HasPrefix(place, commands+"/")) {
				found = c.add(found, place, n.Args[0], nil)
			}
		}
		return true
	})
	return found
}

func (c *code) add(found []sentence, place string, en, zh ast.Expr) []sentence {
	english, isEnglish := c.text(place, en)
	chinese, isChinese := "", true
	if zh != nil {
		chinese, isChinese = c.text(place, zh)
	}
	if !isEnglish || !isChinese || english == "" {
		return found
	}
	return append(found, sentence{place, english, chinese})
}

func field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// callee is the name of what is called, as makers has it.
func callee(place string, call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return path.Base(place) + "." + f.Name
	case *ast.SelectorExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			return id.Name + "." + f.Sel.Name
		}
	}
	return ""
}

// isError recognizes errors.New, fmt.Errorf, and usagef of the command line.
func isError(call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "usagef"
	case *ast.SelectorExpr:
		id, ok := f.X.(*ast.Ident)
		return ok && (id.Name == "errors" && f.Sel.Name == "New" || id.Name == "fmt" && f.Sel.Name == "Errorf")
	}
	return false
}

// text is the text of an expression. What is not a text by itself, such as a value that
// is put in between, becomes "…"; an expression without any text is none.
func (c *code) text(place string, e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			return s, err == nil
		}
	case *ast.ParenExpr:
		return c.text(place, e.X)
	case *ast.Ident:
		s, ok := c.texts[place+"."+e.Name]
		return s, ok
	case *ast.BinaryExpr:
		left, isLeft := c.text(place, e.X)
		right, isRight := c.text(place, e.Y)
		if e.Op != token.ADD || !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "…"
		}
		if !isRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}
