package memory

import (
	"go/ast"
	"slices"

	"github.com/podstep/podstep/probes/memory"
)

// A pod may be held on its worker's goroutine if no function that is under way there has a
// lock. People have read that for the catalogue's version. For others the source tells which
// functions of the kubelet take a lock.

// lockMethods are the methods by which a lock is taken.
var lockMethods = []string{"Lock", "RLock", "TryLock", "TryRLock", "LockKey"}

// noteLocks notes the functions of a file that take a lock, literals in them included.
func (s *source) noteLocks(path string, file *ast.File) {
	for _, d := range file.Decls {
		fd, ok := d.(*ast.FuncDecl)
		if !ok || fd.Body == nil || !takesLock(fd.Body) {
			continue
		}
		s.locks = append(s.locks, symbolOf(path, fd))
	}
}

func takesLock(body ast.Node) (takes bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return !takes
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(lockMethods, sel.Sel.Name) {
			takes = true
		}
		return !takes
	})
	return takes
}

// symbolOf returns the linker's name of a function.
func symbolOf(path string, fd *ast.FuncDecl) string {
	if fd.Recv == nil {
		return path + "." + fd.Name.Name
	}
	if _, pointer := fd.Recv.List[0].Type.(*ast.StarExpr); pointer {
		return path + ".(*" + receiver(fd) + ")." + fd.Name.Name
	}
	return path + "." + receiver(fd) + "." + fd.Name.Name
}

// writeLocks writes the functions that take a lock.
func (g *generator) writeLocks() {
	slices.Sort(g.locks)
	for _, symbol := range slices.Compact(g.locks) {
		g.lines = append(g.lines, memory.Line(memory.Locks, memory.Symbol, symbol, memory.Value{Words: "takes a lock"}))
	}
}
