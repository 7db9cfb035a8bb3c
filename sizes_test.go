package podstep

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a reader takes in at a time, in lines. How many files a package has is no law: its subject decides.
const (
	maxFile     = 450
	maxFunction = 60
)

// generated is the line that says that a file is.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// TestSizes checks that no file and no function written by hand, tests aside, is too long.
func TestSizes(t *testing.T) {
	for path, text := range sources(t) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if n := bytes.Count(text, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines, more than %d", path, n, maxFile)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1; n > maxFunction {
					t.Errorf("%s: %s has %d lines, more than %d", set.Position(f.Pos()), f.Name.Name, n, maxFunction)
				}
			}
		}
	}
}

// sources returns the Go files of all modules that are written by hand, by path.
func sources(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"bin", "testdata"}, d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !generated.Match(text) {
			all[path] = text
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Errorf("only %d files were read", len(all))
	}
	return all
}
