package memory

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/podstep/podstep/probes/memory"
)

// errorTypes are the types of errors that the kubelet's functions return. A member has the
// text, or another error whose text stands for theirs.
var errorTypes = []struct{ pkg, name, member string }{
	{"errors", "errorString", "s"},
	{"fmt", "wrapError", "msg"},
	{"fmt", "wrapErrors", "msg"},
	{"google.golang.org/grpc/internal/status", "Error", "s.s.Message"},
	{"k8s.io/apimachinery/pkg/api/errors", "StatusError", "ErrStatus.Message"},
	{"k8s.io/apimachinery/pkg/util/errors", "aggregate", ""},
	{"k8s.io/kubernetes/pkg/volume/util/types", "FailedPrecondition", "msg"},
	{"k8s.io/kubernetes/pkg/volume/util/types", "TransientOperationFailure", "msg"},
	{"k8s.io/kubernetes/pkg/volume/util/types", "UncertainProgressError", "msg"},
	{"os", "SyscallError", "Err"},
	{"net", "OpError", "Err"},
	{"net/url", "Error", "Err"},
}

// errors writes how the texts of errors are read. An interface's data is a pointer to the
// value, or to the value's parts.
func (g *generator) errors() error {
	for _, e := range errorTypes {
		if g.listed[e.pkg] == nil {
			continue
		}
		pkg, err := g.check(e.pkg)
		if err != nil {
			return err
		}
		obj := pkg.Scope().Lookup(e.name)
		if obj == nil {
			continue
		}
		f, err := g.errorForm(pkg, obj.Type(), e.member)
		if err != nil {
			return fmt.Errorf("read errors of type %s.%s: %w", e.pkg, e.name, err)
		}
		if f != nil {
			g.lines = append(g.lines, memory.Line(memory.Errors, memory.Error, e.pkg+"."+e.name, memory.Value{Form: f}))
		}
	}
	return nil
}

// errorForm returns the form of the member that has the text of errors of a type, or the error
// within. Of a list it is the form of the first error. It is nil if this version has no such
// member.
func (g *generator) errorForm(pkg *types.Package, t types.Type, member string) (*memory.Form, error) {
	data := place{regs: map[int64]int{0: 0}}
	x := value{typ: types.NewPointer(t), from: "error", amd64: data, arm64: data}
	v := &variables{source: g.source, fn: &function{pkg: pkg}}
	if list, ok := t.Underlying().(*types.Slice); ok && member == "" {
		x = x.followed()
		x.typ = types.NewPointer(list.Elem())
		return x.followed().formAs(memory.Interface)
	}
	for _, name := range strings.Split(member, ".") {
		field, err := v.member(x, name)
		if err != nil {
			return nil, nil
		}
		x = field
	}
	if _, ok := x.typ.Underlying().(*types.Interface); ok {
		return x.formAs(memory.Interface)
	}
	return x.formAs(memory.String)
}
