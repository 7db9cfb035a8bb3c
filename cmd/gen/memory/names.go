package memory

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
)

// hasText reports whether a type has a method that makes its text.
func (v *variables) hasText(t types.Type) bool { return v.text(t) != nil }

func (v *variables) text(t types.Type) *ast.FuncDecl {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return nil
	}
	return v.texts[n.Obj().Pkg().Path()+"."+n.Obj().Name()]
}

// names returns the texts of an enumeration, by number. It is nil if the type is none, or if
// its texts must not be taken from its method String.
func (v *variables) names(t types.Type) map[int64]string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || v.text(t) == nil || n.Obj().Pkg() == nil {
		return nil
	}
	if b, ok := n.Underlying().(*types.Basic); !ok || b.Info()&types.IsInteger == 0 || shortType(t) == "time.Duration" {
		return nil
	}
	scope := n.Obj().Pkg().Scope()
	if strings.HasPrefix(n.Obj().Pkg().Path(), "k8s.io/cri-api/") {
		return protoNames(scope, n)
	}
	return switchNames(scope, v.text(t))
}

// protoNames returns the names of an enumeration of protobuf: those of its constants.
func protoNames(scope *types.Scope, n *types.Named) map[int64]string {
	out := map[int64]string{}
	for _, name := range scope.Names() {
		c, ok := scope.Lookup(name).(*types.Const)
		text, ok2 := strings.CutPrefix(name, n.Obj().Name()+"_")
		if !ok || !ok2 || !types.Identical(c.Type(), n) {
			continue
		}
		if i, exact := constant.Int64Val(c.Val()); exact {
			out[i] = text
		}
	}
	return out
}

// switchNames returns the texts of a method that is a switch over constants.
func switchNames(scope *types.Scope, text *ast.FuncDecl) map[int64]string {
	if len(text.Body.List) == 0 {
		return nil
	}
	sw, ok := text.Body.List[0].(*ast.SwitchStmt)
	if !ok || len(text.Recv.List[0].Names) == 0 {
		return nil
	}
	if tag, ok := sw.Tag.(*ast.Ident); !ok || tag.Name != text.Recv.List[0].Names[0].Name {
		return nil
	}
	out := map[int64]string{}
	for _, s := range sw.Body.List {
		clause := s.(*ast.CaseClause)
		if clause.List == nil {
			continue // a number that none of the constants has
		}
		if len(clause.Body) != 1 {
			return nil
		}
		ret, ok := clause.Body[0].(*ast.ReturnStmt)
		if !ok || len(ret.Results) != 1 {
			return nil
		}
		name, ok := ret.Results[0].(*ast.BasicLit)
		if !ok || strings.ContainsAny(name.Value, " \t") {
			return nil
		}
		for _, e := range clause.List {
			id, ok := e.(*ast.Ident)
			if !ok {
				return nil
			}
			c, ok := scope.Lookup(id.Name).(*types.Const)
			if !ok {
				return nil
			}
			if i, exact := constant.Int64Val(c.Val()); exact {
				out[i] = strings.Trim(name.Value, `"`)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
