package stuck

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
	s, lines := &sources{map[string]string{}, map[string]map[string][]byte{}}, map[string]bool{}
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
var ofSource = regexp.MustCompile(`^(pkg|cmd|plugin|staging|k8s\.io)/|^\S+\.go$`)

// sources reads Kubernetes' source, each file and module once.
type sources struct {
	dirs map[string]string            // of modules
	read map[string]map[string][]byte // by file or directory, what it declares
}

// sumOf returns the sum of a function, a method or a type of a file or a directory: F, T.M, (*T).M or T. Of a method whose type
// is not named it is the sum of all of that name. ok is false if there is none. Every file has an empty name.
func (s *sources) sumOf(t *testing.T, file, name string) (sum string, ok bool) {
	t.Helper()
	if s.read[file] == nil {
		s.read[file] = s.declared(t, file)
	}
	text, ok := s.read[file][strings.NewReplacer("(*", "", ")", "").Replace(name)]
	if !ok || name == "" {
		return "", ok
	}
	return probes.FunctionSum(text), true
}

// declared returns the text of what a file or the files of a directory declare, by names as sumOf takes them.
func (s *sources) declared(t *testing.T, file string) map[string][]byte {
	t.Helper()
	module, rest := "k8s.io/kubernetes", file
	if after, ok := strings.CutPrefix(file, "k8s.io/"); ok {
		name, below, _ := strings.Cut(after, "/")
		module, rest = "k8s.io/"+name, below
	}
	all := []string{filepath.Join(s.dirOf(t, module), rest)}
	if path.Ext(rest) != ".go" {
		all, _ = filepath.Glob(filepath.Join(all[0], "*.go"))
		all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	}
	out := map[string][]byte{}
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
		out[""] = nil
		ast.Inspect(f, func(n ast.Node) bool {
			for _, name := range namesOf(n) {
				out[name] = append(out[name], text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset]...)
			}
			_, function := n.(*ast.FuncDecl)
			return !function // what is in it cannot be cited
		})
	}
	return out
}

// namesOf returns the names by which a function, a method or a type may be cited; none: the node is nothing of the kind.
func namesOf(n ast.Node) []string {
	switch n := n.(type) {
	case *ast.TypeSpec:
		return []string{n.Name.Name}
	case *ast.FuncDecl:
		if n.Recv == nil {
			return []string{n.Name.Name}
		}
		of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(n.Recv.List[0].Type), "*"), "[")
		return []string{n.Name.Name, of + "." + n.Name.Name}
	}
	return nil
}

// dirOf returns the directory of a module of which the lab is built.
func (s *sources) dirOf(t *testing.T, module string) string {
	t.Helper()
	if s.dirs[module] == "" {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		s.dirs[module] = strings.TrimSpace(string(out))
		if err != nil || s.dirs[module] == "" {
			t.Fatalf("the module cache does not have %s: %v", module, err)
		}
	}
	return s.dirs[module]
}
