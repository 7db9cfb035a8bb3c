package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const protowire = "google.golang.org/protobuf/encoding/protowire"

// others are the files that take apart other messages than events, with the reason.
var others = map[string]string{
	"agent/export/packet.go": "writes Perfetto's packets",
	"agent/trace/limits.go":  "counts the members of an InfoResponse",
	"agent/trace/older.go":   "reads fields that an InfoResponse had before",
	"probes/cri/ref.go":      "names members of CRI messages by their numbers",
}

// TestOnlyHere looks in the sources for code that takes encoded messages apart, or puts them together: only this
// package may know the bytes of an event.
func TestOnlyHere(t *testing.T) {
	root, unused := filepath.Join("..", ".."), map[string]bool{}
	for path := range others {
		unused[path] = true
	}
	files := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "build"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, ".pb.go"):
			return nil
		}
		own, err := filepath.Rel(root, path)
		if err != nil || strings.HasPrefix(own, filepath.Join("agent", "wire")+string(filepath.Separator)) {
			return err
		}
		files++
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		found := bytesOfMessages(fset, f)
		delete(unused, filepath.ToSlash(own))
		if others[filepath.ToSlash(own)] == "" {
			for _, what := range found {
				t.Error(what)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 100 {
		t.Errorf("only %d files were looked at", files)
	}
	for path := range unused {
		t.Errorf("there is no %s that needs an exception", path)
	}
}

// bytesOfMessages reports where a file imports protowire, or computes a tag: a
// number shifted by three bits and joined with a type.
func bytesOfMessages(fset *token.FileSet, f *ast.File) (found []string) {
	for _, i := range f.Imports {
		if path, err := strconv.Unquote(i.Path.Value); err == nil && path == protowire {
			found = append(found, fset.Position(i.Pos()).String()+": imports protowire")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(*ast.BinaryExpr); ok && (e.Op == token.OR || e.Op == token.ADD) && (shiftsByThree(e.X) || shiftsByThree(e.Y)) {
			found = append(found, fset.Position(e.Pos()).String()+": makes the tag of a message's member")
		}
		return true
	})
	return found
}

func shiftsByThree(e ast.Expr) bool {
	if p, ok := e.(*ast.ParenExpr); ok {
		return shiftsByThree(p.X)
	}
	b, ok := e.(*ast.BinaryExpr)
	if !ok || b.Op != token.SHL {
		return false
	}
	lit, ok := b.Y.(*ast.BasicLit)
	return ok && lit.Value == "3"
}

// TestSweepFinds: bytesOfMessages finds the imports and the tags, and nothing else.
func TestSweepFinds(t *testing.T) {
	for src, want := range map[string]int{
		`package a; import "` + protowire + `"; var _ = protowire.AppendVarint`: 1,
		`package a; func tag(n byte) byte { return n<<3 | 2 }`:                  1,
		`package a; func tag(n byte) byte { return 2 + (n << 3) }`:              1,
		`package a; func size(n int) int { return n << 3 }`:                     0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "a.go", src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytesOfMessages(fset, f); len(got) != want {
			t.Errorf("in %s is found %v, want %d", src, got, want)
		}
	}
}
