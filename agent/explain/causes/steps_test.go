package causes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestNoSteps: the code of causes names no step of the catalogue. It goes by roles, so that a step may be renamed, and a
// step of another probe may take its part. The table names steps.
func TestNoSteps(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if name, err := strconv.Unquote(lit.Value); err == nil && probes.MustLoad().Step(name) != nil {
					t.Errorf("%s names the step %s", set.Position(lit.Pos()), name)
				}
			}
			return true
		})
	}
}

// TestWhereaboutsAreWhole: an entry has its texts in both languages, with the same arguments, and nothing that only a cause has.
func TestWhereaboutsAreWhole(t *testing.T) {
	all, err := readWhereabouts(files)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range all {
		if !strings.HasPrefix(p.ID, "where.") || known[p.ID] || Named(p.ID) != p && Named(p.ID).ID != p.ID {
			t.Errorf("%q is no id of whereabouts, or there are two", p.ID)
		}
		known[p.ID] = true
		if p.Text.En == "" || p.Text.Zh == "" || (p.Title.En == "") != (p.Title.Zh == "") || (p.Clock.En == "") != (p.Clock.Zh == "") {
			t.Errorf("%s has a text in one language only", p.ID)
		}
		if len(p.When) > 0 || len(p.Next) > 0 || p.Rank != 0 || p.Refute.En != "" {
			t.Errorf("%s has what only a cause has", p.ID)
		}
	}
	for _, id := range whereIn {
		if !known[id] {
			t.Errorf("%s has no text", id)
		}
	}
}
