package stuck

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write anew what the causes cite")

// sumsFile has a line for each function that a cause cites, with its probes.FunctionSum in the version in which somebody has
// read it for the cause.
const sumsFile = "testdata/cited.sum"

// TestCited: what a cause cites of Kubernetes' source, "FILE: FUNCTION, FUNCTION (DETAIL); FILE", is there in the version that
// the lab is built of, and is what was read. If a function has changed, read the causes that cite it anew; then -update.
func TestCited(t *testing.T) {
	s, lines := sources{}, map[string]bool{}
	for _, c := range causes.All() {
		for _, part := range strings.Split(c.Where, "; ") {
			file, names, _ := strings.Cut(part, ": ")
			if !ofSource.MatchString(file) {
				continue // it names a call of the CRI, a field, the program in the container
			}
			for _, name := range strings.Split(names, ", ") {
				name, _, _ = strings.Cut(name, " (")
				sum, ok := s.sumOf(t, file, name)
				if !ok {
					t.Errorf("%s cites %s: there is no %s", c.ID, file, name)
				}
				lines[strings.TrimSpace(strings.Join([]string{file, name, sum}, " "))] = true
			}
		}
	}
	compareSums(t, slices.Sorted(maps.Keys(lines)))
}

func compareSums(t *testing.T, lines []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(sumsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(sumsFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		if !slices.Contains(want, line) {
			t.Errorf("%s has not been read so, or has changed since", line)
		}
	}
	if len(lines) < len(want) {
		t.Errorf("%s has %d lines, and %d are cited: write it anew with -update", sumsFile, len(want), len(lines))
	}
}

// ofSource is how a file or a directory of Kubernetes' source is cited: in k8s.io/kubernetes, or with its module.
var ofSource = regexp.MustCompile(`^(pkg|k8s\.io/[a-z-]+|[a-z_/]+\.go)(/|$)`)

// sources has the sums of what the files and directories declare that were read, by their names.
type sources map[string]map[string]string

// sumOf returns the sum of a function, a method or a type of a file or a directory: F, T.M, (*T).M or T. ok is false if there is
// none. Every file has an empty name, without a sum.
func (s sources) sumOf(t *testing.T, file, name string) (sum string, ok bool) {
	t.Helper()
	if s[file] == nil {
		s[file] = declared(t, file)
	}
	sum, ok = s[file][strings.NewReplacer("(*", "", ")", "").Replace(name)]
	return sum, ok
}

// declared returns the sums of what a file or the files of a directory declare: F, T, T.M, and M for all methods of that name.
func declared(t *testing.T, file string) map[string]string {
	t.Helper()
	module, rest := "k8s.io/kubernetes", file
	if after, ok := strings.CutPrefix(file, "k8s.io/"); ok {
		name, below, _ := strings.Cut(after, "/")
		module, rest = "k8s.io/"+name, below
	}
	all := []string{filepath.Join(dirOf(t, module), rest)}
	if path.Ext(rest) != ".go" {
		all, _ = filepath.Glob(filepath.Join(all[0], "*.go"))
		all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	}
	out := map[string]string{}
	for _, name := range all {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Errorf("%s is cited: %v", file, err)
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out[""] = ""
		for _, d := range f.Decls {
			addSums(out, d, func(n ast.Node) string {
				return probes.FunctionSum(text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])
			})
		}
	}
	return out
}

func addSums(to map[string]string, d ast.Decl, sum func(ast.Node) string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		to[d.Name.Name] += sum(d)
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
			to[id.Name+"."+d.Name.Name] = sum(d)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				to[s.Name.Name] = sum(s)
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
