package podstep

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/probes"
)

// bilingual is a text that a file has in both languages.
type bilingual struct{ where, en, zh string }

// makers are functions that make a text of an English argument and a Chinese one behind it.
var makers = []string{"Text", "text", "New", "Errorf", "why"}

// unspaced finds a foreign word that stands in Chinese without blanks, and punctuation
// that is not Chinese.
var unspaced = regexp.MustCompile(`.{0,6}(\p{Han}[A-Za-z]|[^%][A-Za-z]\p{Han}|\p{Han}[,;:!?()] |[，。；：！？（）] \S).{0,6}`)

// TestTexts: each text has both languages. In Chinese a foreign word stands between
// blanks, and punctuation is Chinese.
func TestTexts(t *testing.T) {
	all := bilinguals(t, "agent", "cmd", "probes", "tui")
	if len(all) < 2000 {
		t.Errorf("only %d texts were read", len(all))
	}
	for _, text := range all {
		if text.en != "" && text.zh == "" {
			t.Errorf("%s: %q has no Chinese text", text.where, text.en)
		}
		if found := unspaced.FindString(text.zh); found != "" {
			t.Errorf("%s: %q", text.where, found)
		}
	}
}

// bilinguals reads the texts of the Go and YAML files below some directories.
func bilinguals(t *testing.T, dirs ...string) (all []bilingual) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case strings.HasSuffix(path, ".yaml"):
				all = append(all, textsOfYAML(t, path)...)
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				all = append(all, textsOfGo(t, path)...)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// textsOfGo finds composite literals with En and Zh, and calls of makers.
func textsOfGo(t *testing.T, path string) (all []bilingual) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(en, zh ast.Expr) {
		if english, ok := literal(en); ok {
			if chinese, ok := literal(zh); ok {
				all = append(all, bilingual{set.Position(en.Pos()).String(), english, chinese})
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if en, zh := valueOf(n, "En"), valueOf(n, "Zh"); en != nil && zh != nil {
				add(en, zh)
			}
		case *ast.CallExpr:
			for i := 1; i < len(n.Args) && slices.Contains(makers, calleeOf(n)); i++ {
				add(n.Args[i-1], n.Args[i])
			}
		}
		return true
	})
	return all
}

// calleeOf is the name of the function that is called, without its package.
func calleeOf(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// valueOf is the value of a field in a composite literal, or nil.
func valueOf(lit *ast.CompositeLit, field string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == field {
				return kv.Value
			}
		}
	}
	return nil
}

// literal is the text of an expression of string literals, with "…" for other values
// among them. ok is false if there is no literal.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		left, isLeft := literal(e.X)
		right, isRight := literal(e.Y)
		return left + right, e.Op == token.ADD && (isLeft || isRight)
	}
	return "…", false
}

// textsOfYAML finds the mappings of en and zh.
func textsOfYAML(t *testing.T, path string) (all []bilingual) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatalf("read %s: %v", path, err)
	}
	var visit func(*yaml.Node)
	visit = func(n *yaml.Node) {
		for _, c := range n.Content {
			visit(c)
		}
		if c := n.Content; n.Kind != yaml.MappingNode || len(c) != 4 || c[0].Value != "en" || c[2].Value != "zh" {
			return
		}
		var text probes.Text
		if err := n.Decode(&text); err != nil {
			t.Fatalf("read %s: %v", path, err)
		}
		all = append(all, bilingual{path + ":" + strconv.Itoa(n.Line), text.En, text.Zh})
	}
	visit(&doc)
	return all
}
