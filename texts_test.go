package podstep

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clients are where what an agent answers is acted on.
var clients = []string{"agent/client", "agent/trace", "cmd/podstep", "tui"}

// takers take texts apart.
var takers = []string{
	"Contains", "ContainsAny", "ContainsFunc", "Count", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "Fields", "HasPrefix", "HasSuffix",
	"Index", "LastIndex", "MatchString", "FindString", "FindStringSubmatch", "Split", "SplitN", "TrimPrefix", "TrimSuffix",
}

// messages are the calls and fields that give a text that an agent made for people.
var messages = []string{"Error", "Message", "GetMessage", "Why", "GetWhy"}

// TestTextsAreNotTakenApart: a client acts on codes and fields of the protocol. No
// client looks for words in the text of an error or a refusal, nor compares it.
func TestTextsAreNotTakenApart(t *testing.T) {
	files := 0
	for _, dir := range clients {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, at := range takenApart(f) {
				t.Errorf("%s takes a text apart; texts of the agent have codes, see agent/reason", set.Position(at))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < len(clients) {
		t.Errorf("%d files were read", files)
	}
}

// takenApart finds where a file takes a message apart, or compares it with a text.
func takenApart(f *ast.File) (at []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(takers, sel.Sel.Name) && slices.ContainsFunc(n.Args, isMessage) {
				at = append(at, n.Pos())
			}
		case *ast.BinaryExpr:
			if (n.Op == token.EQL || n.Op == token.NEQ) && (isMessage(n.X) && isText(n.Y) || isText(n.X) && isMessage(n.Y)) {
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// isMessage reports whether an expression has the text of an error, a status or a
// refusal in it. An error of ours is asked for what it is, not for its text.
func isMessage(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && len(call.Args) == 0 && slices.Contains(messages, sel.Sel.Name) {
			found = true
		}
		return true
	})
	return found
}

// isText recognizes a text that is not empty.
func isText(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING && len(lit.Value) > 2
}

// TestTakenApart: the sweep finds what it is there for.
func TestTakenApart(t *testing.T) {
	for body, want := range map[string]int{
		`strings.Contains(err.Error(), "not held")`:                      1,
		`strings.HasSuffix(h.GetWhy(), fmt.Sprintf("breakpoint %d", n))`: 1,
		`strings.Contains(strings.ToLower(st.Message()), "x")`:           1,
		`pattern.MatchString(err.Error())`:                               1,
		`err.Error() == "gone"`:                                          1,
		`err.Error() != ""`:                                              0,
		`errors.Is(err, io.EOF)`:                                         0,
		`words.CodeOf(err) == agentpb.Problem_NOT_HELD`:                  0,
		`strings.Contains(name, "x")`:                                    0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar _ = "+body, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(takenApart(f)); got != want {
			t.Errorf("%s: %d finds, want %d", body, got, want)
		}
	}
}

// TestReasonsAreKnown: reasons are declared where every client has them. A probe's
// own package is linked into no client, and its code would be shown for the words.
func TestReasonsAreKnown(t *testing.T) {
	places := []string{"probes", "probes/reasons"}
	for _, dir := range []string{"agent", "cmd", "probes", "tui"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				filepath.Base(filepath.Dir(path)) == "probetest" || slices.Contains(places, filepath.ToSlash(filepath.Dir(path))) {
				return err
			}
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "NewReason" {
					t.Errorf("%s declares a reason; clients know those of probes/reasons", set.Position(sel.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
