package cri

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// table has the unary methods of the CRI: those that are steps, in the catalogue's order,
// and all others. A relay shows no streams.
type table struct {
	steps, others  []Method
	byPath, byStep map[string]*Method
}

// methods makes the table of the built-in catalogue, once. An error is a fault of the build, and a test makes sure
// there is none.
var methods = sync.OnceValue(func() *table {
	t, err := newTable(probes.MustLoad())
	if err != nil {
		panic(err)
	}
	return t
})

// newTable looks up the methods and paths of the catalogue in the CRI's services and messages.
func newTable(c *probes.Catalogue) (*table, error) {
	t := &table{byPath: map[string]*Method{}, byStep: map[string]*Method{}}
	unary := unaryMethods()
	var errs []error
	for i := range c.Steps {
		if s := &c.Steps[i]; s.CRI != "" {
			m, err := stepMethod(s, unary)
			if err != nil {
				errs = append(errs, fmt.Errorf("read step %s: %w", s.Name, err))
			}
			t.steps = append(t.steps, m)
		}
	}
	for i := range t.steps {
		m := &t.steps[i]
		t.byPath[m.Name], t.byStep[m.Step] = m, m
	}
	for _, d := range unary {
		if t.byPath[pathOf(d)] == nil {
			t.others = append(t.others, otherMethod(d))
		}
	}
	for i := range t.others {
		t.byPath[t.others[i].Name] = &t.others[i]
	}
	return t, errors.Join(errs...)
}

func unaryMethods() (out []protoreflect.MethodDescriptor) {
	services := runtimeapi.File_staging_src_k8s_io_cri_api_pkg_apis_runtime_v1_api_proto.Services()
	for i := range services.Len() {
		all := services.Get(i).Methods()
		for j := range all.Len() {
			if d := all.Get(j); !d.IsStreamingServer() && !d.IsStreamingClient() {
				out = append(out, d)
			}
		}
	}
	return out
}

// pathOf returns a method as HTTP/2 has it in :path.
func pathOf(d protoreflect.MethodDescriptor) string {
	return "/" + string(d.Parent().FullName()) + "/" + string(d.Name())
}

// stepMethod resolves the method of a step, and the paths of its fields and results.
func stepMethod(s *probes.Step, unary []protoreflect.MethodDescriptor) (m Method, err error) {
	i := slices.IndexFunc(unary, func(d protoreflect.MethodDescriptor) bool {
		return string(d.Parent().Name())+"."+string(d.Name()) == s.CRI
	})
	if i < 0 {
		return Method{}, fmt.Errorf("the CRI has no method %s, or it is a stream", s.CRI)
	}
	m = newMethod(unary[i], s.Name)
	m.pod = s.Pod.Kind
	if m.fields, err = parseValues(m.request.Descriptor(), s.Fields); err != nil {
		return Method{}, err
	}
	m.results, err = parseValues(m.answer.Descriptor(), s.Results)
	return m, err
}

// otherMethod returns a method of whose calls only the name is shown.
func otherMethod(d protoreflect.MethodDescriptor) Method {
	m := newMethod(d, Other)
	m.fields = []value{{of: func(protoreflect.Message) any { return m.rpc }}}
	return m
}

func newMethod(d protoreflect.MethodDescriptor, step string) Method {
	return Method{
		Name: pathOf(d), Step: step, rpc: string(d.Name()),
		request: typeOf(d.Input()), asks: findPlaces(d.Input()),
		answer: typeOf(d.Output()), made: findPlaces(d.Output()).id,
	}
}

func parseValues(d protoreflect.MessageDescriptor, fields []probes.Field) (out []value, err error) {
	for _, f := range fields {
		v, err := parseValue(d, f.CRI)
		if err != nil {
			return nil, fmt.Errorf("find field %s: %w", f.Name, err)
		}
		out = append(out, v)
	}
	return out, nil
}
