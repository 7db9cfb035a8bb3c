package eventtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// CheckMakers fails the test unless known has exactly the functions, of the package that is tested, that make events: those
// with a literal of that type that is not empty.
func CheckMakers(t *testing.T, of string, known []string) {
	t.Helper()
	var found []string
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && makes(f, of) {
				found = append(found, functionName(f))
			}
		}
	}
	for _, name := range known {
		if !slices.Contains(found, name) {
			t.Errorf("%s makes no event: the list has one too many", name)
		}
	}
	for _, name := range found {
		if !slices.Contains(known, name) {
			t.Errorf("%s makes events, and the list does not have it", name)
		}
	}
}

// CheckTimes fails the test unless one of the events is of that kind, and each has a time since the agent began. Zero would
// be 1970 on the screen, and before everything else in a trace.
func CheckTimes(t *testing.T, events []*agentpb.Event, kind agentpb.Kind, begun time.Time) {
	t.Helper()
	if !slices.ContainsFunc(events, func(e *agentpb.Event) bool { return e.Kind == kind }) {
		t.Fatalf("no event of this kind among %v", events)
	}
	for _, e := range events {
		if e.Time < begun.UnixNano() || e.Time > time.Now().UnixNano() || e.Mono <= 0 {
			t.Errorf("event has time %v, mono %v: %v", time.Unix(0, e.Time).UTC(), time.Duration(e.Mono), e)
		}
	}
}

// makes reports whether a function has a literal of a type that is not empty.
func makes(f *ast.FuncDecl, of string) (makes bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && lit.Type != nil && len(lit.Elts) > 0 {
			makes = makes || types.ExprString(lit.Type) == of
		}
		return true
	})
	return makes
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	return types.ExprString(of) + "." + f.Name.Name
}
