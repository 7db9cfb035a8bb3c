package explain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// arguments returns the names of the arguments of texts, in order, each once.
func arguments(texts ...string) []string {
	names := map[string]bool{}
	for _, t := range texts {
		for _, name := range probes.Arguments(t) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestLanguages: each entry has a text. Each text is there in both languages, with the same arguments.
func TestLanguages(t *testing.T) {
	for code, e := range table() {
		if e.Text.En == "" && e.Brief.En == "" {
			t.Errorf("%s has no text", code)
		}
		for _, text := range []probes.Text{e.Text, e.Brief} {
			if (text.En == "") != (text.Zh == "") {
				t.Errorf("%s is missing in a language: %+v", code, text)
			}
			if en, zh := arguments(text.En), arguments(text.Zh); !slices.Equal(en, zh) {
				t.Errorf("%s has the arguments %v in English, %v in Chinese", code, en, zh)
			}
		}
	}
}

// TestFailures: the table has the reasons that are failures, and no other.
func TestFailures(t *testing.T) {
	var have []string
	for code, e := range table() {
		if reason, ok := strings.CutPrefix(string(code), failurePrefix); ok {
			have = append(have, reason)
			if e.Text.En == "" || e.Brief.En == "" || len(arguments(e.Text.En, e.Brief.En)) > 0 {
				t.Errorf("%s needs a text and a brief one, without arguments", code)
			}
		}
	}
	if slices.Sort(have); !slices.Equal(have, life.Failures()) {
		t.Errorf("the table has %v, package life %v", have, life.Failures())
	}
}

// source is the package's own code.
type source struct {
	codes map[string]Code     // constants of type Code
	used  map[string]int      // how often each is named, its declaration included
	args  map[string][]string // by constant: arguments that the code gives it
}

func readSource(t *testing.T) source {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	s := source{map[string]Code{}, map[string]int{}, map[string][]string{}}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				s.declared(t, n)
			case *ast.Ident:
				s.used[n.Name]++
			case *ast.CompositeLit:
				s.phrase(t, n)
			}
			return true
		})
	}
	return s
}

// declared notes constants of type Code.
func (s source) declared(t *testing.T, n *ast.ValueSpec) {
	if id, ok := n.Type.(*ast.Ident); !ok || id.Name != "Code" || len(n.Values) != 1 {
		return
	}
	code, err := strconv.Unquote(n.Values[0].(*ast.BasicLit).Value)
	if err != nil {
		t.Fatal(err)
	}
	s.codes[n.Names[0].Name] = Code(code)
}

// phrase notes the arguments of a literal that may be Phrase{Code, Args{...}}, with or without its type.
func (s source) phrase(t *testing.T, n *ast.CompositeLit) {
	if len(n.Elts) != 2 {
		return
	}
	code, ok := n.Elts[0].(*ast.Ident)
	args, isArgs := n.Elts[1].(*ast.CompositeLit)
	if !ok || !isArgs {
		return
	}
	if id, ok := args.Type.(*ast.Ident); !ok || id.Name != "Args" {
		return
	}
	names := []string{}
	for _, e := range args.Elts {
		name, err := strconv.Unquote(e.(*ast.KeyValueExpr).Key.(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if before, ok := s.args[code.Name]; ok && !slices.Equal(before, names) {
		t.Errorf("%s is given %v and %v", code.Name, before, names)
	}
	s.args[code.Name] = names
}

// TestCodes: every code of the package is in the table, with the arguments that the package
// gives it, and every entry of the table is used. Each text of an evidence is given seq and
// step.
func TestCodes(t *testing.T) {
	s := readSource(t)
	if len(s.codes) < 50 || len(s.args) < 50 {
		t.Fatalf("%d codes with the arguments of %d were found", len(s.codes), len(s.args))
	}
	declared := map[Code]bool{}
	for name, code := range s.codes {
		if declared[code] {
			t.Errorf("%s is there twice", code)
		}
		declared[code] = true
		e, ok := table()[code]
		if !ok {
			t.Errorf("%s is not in the table", code)
		}
		if s.used[name] < 2 {
			t.Errorf("%s is not used", name)
		}
		given, want := s.args[name], arguments(e.Text.En, e.Brief.En)
		if strings.HasPrefix(string(code), "evidence.") {
			given, want = []string{"seq", "step"}, arguments(e.Text.En, "{seq}{step}")
		}
		if !slices.Equal(given, want) {
			t.Errorf("%s is given the arguments %v, the table has %v", code, given, want)
		}
	}
	for code := range table() {
		if !declared[code] && !strings.HasPrefix(string(code), failurePrefix) {
			t.Errorf("nothing uses the entry %s", code)
		}
	}
}
