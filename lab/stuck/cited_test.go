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
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/probes"
)

var update = flag.Bool("update", false, "write anew what the causes cite")

// sumsFile has a line for each function that a cause cites, with its probes.FunctionSum in the version in which somebody has
// read it for the cause.
const sumsFile = "testdata/cited.sum"

// TestCited: what a cause cites of Kubernetes' source is there in the version that the lab is built of, and is what was read. If a
// function has changed, read the causes that cite it anew; then -update.
func TestCited(t *testing.T) {
	if lacks := missing(t, probes.KubernetesVersion); len(lacks) > 0 {
		t.Fatalf("the module cache does not have %v", lacks)
	}
	s, lines := newSources(probes.KubernetesVersion), map[string]bool{}
	for _, c := range causes.All() {
		for _, of := range c.Cited() {
			sum, ok := s.sumOf(t, of)
			if !ok {
				t.Errorf("%s cites %s: there is no %s", c.ID, of.File, of.Name)
			}
			lines[strings.TrimSpace(strings.Join([]string{of.File, of.Name, sum}, " "))] = true
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

// sources reads Kubernetes' source in one version, each file once.
type sources struct {
	version string
	read    map[string]map[string][]byte // by file or directory, what it declares
}

func newSources(version string) *sources { return &sources{version, map[string]map[string][]byte{}} }

// sumOf returns the sum of what is cited. Of a method whose type is not named it is the sum of all of that name in the file. ok is
// false if there is none. A file that is cited alone has no sum.
func (s *sources) sumOf(t *testing.T, of causes.Citation) (sum string, ok bool) {
	t.Helper()
	if s.read[of.File] == nil {
		s.read[of.File] = s.declared(t, of.File)
	}
	text, ok := s.read[of.File][strings.NewReplacer("(*", "", ")", "").Replace(of.Name)]
	if !ok || of.Name == "" {
		return "", ok
	}
	return probes.FunctionSum(text), true
}

// files returns the paths of a file or of the files of a directory, without tests; none: the version does not have them.
func (s *sources) files(t *testing.T, file string) []string {
	t.Helper()
	module, rest := moduleOf(file)
	at := filepath.Join(dirOf(module, s.version), rest)
	if path.Ext(rest) != ".go" {
		at = filepath.Join(at, "*.go")
	}
	all, err := filepath.Glob(at)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// kubernetes is the module that files are in which are cited without one.
const kubernetes = "k8s.io/kubernetes"

// moduleOf returns the module of a cited file, and where the file is in it.
func moduleOf(file string) (module, rest string) {
	if after, ok := strings.CutPrefix(file, "k8s.io/"); ok {
		name, below, _ := strings.Cut(after, "/")
		return "k8s.io/" + name, below
	}
	return kubernetes, file
}

// declared returns the text of what a file or the files of a directory declare, by names as sumOf takes them, and an empty text by an
// empty name if there is a file.
func (s *sources) declared(t *testing.T, file string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range s.files(t, file) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
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

// moduleCache is the directory with the modules that were downloaded.
var moduleCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		panic("go env GOMODCACHE: " + err.Error())
	}
	return strings.TrimSpace(string(out))
})

// dirOf returns the directory of a module of a version of Kubernetes. The libraries of v1.34.4 are v0.34.4.
func dirOf(module, version string) string {
	if module != kubernetes {
		version = "v0." + strings.TrimPrefix(version, "v1.")
	}
	return filepath.Join(moduleCache(), module+"@"+version)
}
