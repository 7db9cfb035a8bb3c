package stuck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
)

// TestCited: what a cause cites of Kubernetes' source, "FILE: FUNCTION, FUNCTION (DETAIL); FILE", is there in the version that
// the lab is built of. A cause whose function has another name or place by now has to be read anew.
func TestCited(t *testing.T) {
	s, cited := sources{}, 0
	for _, c := range causes.All() {
		for _, part := range strings.Split(c.Where, "; ") {
			file, names, _ := strings.Cut(part, ": ")
			if !ofSource.MatchString(file) {
				continue // it names a call of the CRI, a field, the program in the container
			}
			for _, name := range strings.Split(names, ", ") {
				cited++
				name, _, _ = strings.Cut(name, " (")
				if !s.declares(t, file, name) {
					t.Errorf("%s cites %s: there is no %s", c.ID, file, name)
				}
			}
		}
	}
	if cited < 300 {
		t.Errorf("there are only %d citations", cited)
	}
}

// ofSource is how a file or a directory of Kubernetes' source is cited: in k8s.io/kubernetes, or with its module.
var ofSource = regexp.MustCompile(`^(pkg|k8s\.io/[a-z-]+|[a-z_/]+\.go)(/|$)`)

// sources has what the files and directories declare that were read, by their names.
type sources map[string]map[string]bool

// declares reports whether a file or a directory declares a function, a method or a type: F, T.M, (*T).M or T. Every one that
// is there declares an empty name.
func (s sources) declares(t *testing.T, file, name string) bool {
	t.Helper()
	if s[file] == nil {
		s[file] = declared(t, file)
	}
	return s[file][strings.NewReplacer("(*", "", ")", "").Replace(name)]
}

// declared returns the names that a file or the files of a directory declare: F, T, T.M, and M for a method whose type is not
// named.
func declared(t *testing.T, file string) map[string]bool {
	t.Helper()
	module, rest := "k8s.io/kubernetes", file
	if after, ok := strings.CutPrefix(file, "k8s.io/"); ok {
		name, below, _ := strings.Cut(after, "/")
		module, rest = "k8s.io/"+name, below
	}
	all := []string{filepath.Join(dirOf(t, module), rest)}
	if path.Ext(rest) != ".go" {
		all, _ = filepath.Glob(filepath.Join(all[0], "*.go"))
	}
	out := map[string]bool{}
	for _, name := range all {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s is cited: %v", file, err)
			continue
		}
		out[""] = true
		for _, d := range f.Decls {
			addNames(out, d)
		}
	}
	return out
}

func addNames(to map[string]bool, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		to[d.Name.Name] = true
		if d.Recv == nil {
			return
		}
		of := d.Recv.List[0].Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if generic, ok := of.(*ast.IndexExpr); ok {
			of = generic.X
		}
		if id, ok := of.(*ast.Ident); ok {
			to[id.Name+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				to[s.Name.Name] = true
			}
		}
	}
}

// dirOf returns the directory of a module of which the lab is built.
func dirOf(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if dir := strings.TrimSpace(string(out)); err == nil && dir != "" {
		return dir
	}
	t.Fatalf("the module cache does not have %s: %v", module, err)
	return ""
}
