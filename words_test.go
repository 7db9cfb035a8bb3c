package podstep

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// avoided are words of which docs/terms.md has a better one: events are published,
// sources report, commands print, a person asks for a hold. The word is looked for
// in each part of a name such as newTeller or told_once.
var avoided = map[string]string{
	"told": "reported, published, sent", "tell": "report, publish, send", "tells": "reports", "telling": "reporting",
	"teller": "publisher, reporter", "tellers": "replicas, reporters", "untold": "pending",
	"say": "print, report, words.Text", "says": "message, reports", "said": "reports, printed", "saying": "printing", "unsaid": "the rest",
	"tale": "story, history", "tales": "stories", "deed": "call, action", "deeds": "calls, actions", "crew": "goroutines, workers",
	"hear": "receive", "hears": "receives", "heard": "received, seen", "hearing": "observation", "hush": "end silently", "hushed": "silent",
	"wish": "pending hold, request", "wishes": "requests", "wished": "requested", "beside": "attached", "besides": "also",
}

// TestNamesAreTerms: no name in the code has a word that docs/terms.md replaces.
func TestNamesAreTerms(t *testing.T) {
	for path, text := range sources(t) {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if word := avoidedIn(strings.TrimSuffix(filepath.Base(path), ".go")); word != "" {
			t.Errorf("%s: the file's name has %q; write %s", path, word, avoided[word])
		}
		for _, name := range declared(f) {
			if word := avoidedIn(name.Name); word != "" {
				t.Errorf("%s: %s has %q; write %s", set.Position(name.Pos()), name.Name, word, avoided[word])
			}
		}
	}
}

// declared are the names that a file declares: of packages' things, fields,
// methods, parameters and local variables.
func declared(f *ast.File) (names []*ast.Ident) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			names = append(names, n.Name)
		case *ast.TypeSpec:
			names = append(names, n.Name)
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.Field:
			names = append(names, n.Names...)
		case *ast.LabeledStmt:
			names = append(names, n.Label)
		case *ast.ImportSpec:
			if n.Name != nil {
				names = append(names, n.Name)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				names = append(names, identsOf(n.Lhs...)...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				names = append(names, identsOf(n.Key, n.Value)...)
			}
		}
		return true
	})
	return names
}

func identsOf(all ...ast.Expr) (names []*ast.Ident) {
	for _, e := range all {
		if id, ok := e.(*ast.Ident); ok {
			names = append(names, id)
		}
	}
	return names
}

// avoidedIn is the first word of a name that is to be avoided, or "".
func avoidedIn(name string) string {
	for _, word := range wordsOf(name) {
		if avoided[word] != "" {
			return word
		}
	}
	return ""
}

// wordsOf are the words of a name, in lower case: a capital letter after a small
// one begins a word, and so does what follows an underscore, a hyphen or a digit.
func wordsOf(name string) []string {
	var b strings.Builder
	before := ' '
	for _, r := range name {
		if unicode.IsUpper(r) && !unicode.IsUpper(before) {
			b.WriteRune(' ')
		}
		if !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
		before = r
	}
	return strings.Fields(b.String())
}

func TestWordsOf(t *testing.T) {
	for name, want := range map[string][]string{
		"newTeller": {"new", "teller"}, "told_once": {"told", "once"}, "forgetOld": {"forget", "old"}, "TestOlderWeaver": {"test", "older", "weaver"},
		"sayf2Said": {"sayf", "said"},
	} {
		if got := wordsOf(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := avoidedIn("bench_tell_test"); got != "tell" {
		t.Errorf("bench_tell_test has %q", got)
	}
	if got := avoidedIn("TestOldVersions"); got != "" {
		t.Errorf("TestOldVersions has %q", got)
	}
}
