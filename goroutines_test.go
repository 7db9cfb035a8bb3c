package podstep

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// guards is the file of the functions that begin a goroutine inside a kubelet:
// each of them recovers.
const guards = "probes/hook/guard.go"

// TestKubeletGoroutinesAreGuarded: a panic on a goroutine of its own ends the
// whole process. What podstep links into a kubelet begins its goroutines by
// package hook.
func TestKubeletGoroutinesAreGuarded(t *testing.T) {
	all := list(t)
	const kubelet = "lab/cmd/podstep-kubelet"
	checked := 0
	for _, dep := range append(all[kubelet].Deps, module+"/"+kubelet) {
		own, ours := strings.CutPrefix(dep, module+"/")
		if !ours {
			continue
		}
		for _, name := range all[own].GoFiles {
			file := filepath.Join(own, name)
			if file == guards {
				continue
			}
			checked++
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range unguarded(parsed) {
				t.Errorf("%s begins a goroutine that does not recover; use hook.Go, hook.AfterFunc or hook.AfterDone", files.Position(at))
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d files were looked at", checked)
	}
}

// starters are functions of the standard library that call a function on a
// goroutine of its own. The methods are those of sync.WaitGroup and
// errgroup.Group, by name: Go.
var starters = []string{"time.AfterFunc", "context.AfterFunc"}

// unguarded finds where a file begins goroutines by itself.
func unguarded(file *ast.File) (at []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at = append(at, n.Pos())
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			switch {
			case ok && x.Name == "hook":
			case ok && slices.Contains(starters, x.Name+"."+n.Sel.Name), n.Sel.Name == "Go":
				at = append(at, n.Pos())
			}
		}
		return true
	})
	return at
}

// TestUnguarded: the sweep finds what it looks for.
func TestUnguarded(t *testing.T) {
	const source = `package p
func f() {
	go f()
	time.AfterFunc(1, f)
	g := context.AfterFunc
	wait.Go(f)
	hook.Go(f)
	hook.AfterFunc(1, f)
	Go(f)
}`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(unguarded(file)); n != 4 {
		t.Errorf("%d places are found, want 4", n)
	}
}
