package weave

import (
	"fmt"
	"go/ast"

	"github.com/podstep/podstep/probes"
)

// Find finds the step's function in a file of its package: the declaration and,
// if the step is a function literal in it, the literal. A nil declaration means
// that it is in another file.
func Find(file *ast.File, step *probes.Step) (*ast.FuncDecl, *ast.FuncLit, error) {
	want, err := probes.ParseSymbol(step.Symbol)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range file.Decls {
		fd, ok := d.(*ast.FuncDecl)
		if !ok || fd.Body == nil || !matches(fd, want) {
			continue
		}
		if step.Closure == "" {
			return fd, nil, nil
		}
		lit, err := literal(fd.Body, step.Closure)
		if err != nil {
			return nil, nil, fmt.Errorf("in %s: %w", want.Name, err)
		}
		return fd, lit, nil
	}
	return nil, nil, nil
}
