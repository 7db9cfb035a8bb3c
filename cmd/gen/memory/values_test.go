package memory

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// lookers returns the variables of look, as load would find them.
func lookers(t *testing.T, exit bool) *variables {
	t.Helper()
	const path = "k8s.io/test/values"
	step := &probes.Step{Name: "look", Symbol: path + ".(*outer).look"}
	s := &source{
		fset: token.NewFileSet(), steps: map[string][]*probes.Step{path: {step}},
		functions: map[*probes.Step]*function{}, texts: map[string]*ast.FuncDecl{}, sizes: types.SizesFor("gc", "amd64"),
	}
	file, err := parser.ParseFile(s.fset, "look_test.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keep(path, []*ast.File{file}); err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: importer.ForCompiler(s.fset, "source", nil), Sizes: s.sizes, Error: func(err error) { t.Log(err) }}
	pkg, err := conf.Check(path, s.fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	fn := s.functions[step]
	fn.pkg = pkg
	v, err := s.variables(fn, exit)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// kept keeps values where they are: the tests have their addresses as numbers.
var kept []any

// TestForms reads values out of this process's own memory by their forms.
func TestForms(t *testing.T) {
	if word != unsafe.Sizeof(uintptr(0)) {
		t.Skip("forms are for 64 bits")
	}
	now, secs := time.Now(), int64(30)
	deep := &inner{meta: meta{Name: "deep", Gone: &now, Secs: &secs}, Count: 7, list: []string{"a", "b"}, index: map[string]int{"x": 1, "y": 2, "z": 3}}
	o := &outer{In: inner{meta: meta{Name: "in", Made: now}, On: true, Deep: deep}, Ptr: &inner{Deep: deep, call: func() {}}, Any: 1, Paint: blue, Wait: time.Minute}
	by := small{"arg", deep}
	kept = []any{o, deep, by}
	// These are the registers when look begins: the receiver, by's three words, n, changes. f
	// is in a register for floats.
	registers := []uintptr{
		uintptr(unsafe.Pointer(o)), uintptr(unsafe.Pointer(unsafe.StringData(by.A))), uintptr(len(by.A)), uintptr(unsafe.Pointer(by.P)),
		12, uintptr(unsafe.Pointer(deep)),
	}
	enter, exit := lookers(t, false), lookers(t, true)
	results := []uintptr{uintptr(unsafe.Pointer(deep)), 1}
	for expr, want := range map[string]any{
		"o.In.Name":          "in",
		"o.In.meta.Name":     "in",
		"(o.In).Deep.Name":   "deep",
		"string(o.In.Name)":  "in",
		"o.Ptr.Deep.Count":   uint16(7),
		"o.In.Made":          now,
		"o.Ptr.Deep.Gone":    now,
		"o.Ptr.Deep.Secs":    int64(30),
		"o.In.Secs":          nil,
		"o.In.On":            true,
		"o.Ptr.On":           false,
		"o.Paint":            "blue",
		"o.Paint.String()":   "blue",
		"o.Wait":             time.Minute,
		"by.A":               "arg",
		"by.P.Name":          "deep",
		"n":                  int16(12),
		"len(by.A)":          int64(3),
		"len(by.P.list)":     int64(2),
		"len(by.P.index)":    int64(3),
		"len(o.Ptr.index)":   int64(0),
		"o.Any != nil":       true,
		"o.Err == nil":       true,
		"o.Ptr.call != nil":  true,
		"o.In.Deep.Deep.On":  nil,
		"by.P.Deep != nil":   false,
		"changes.Count":      uint16(7),
		"o.Ptr.Deep.Deep.On": nil,
		"func() int { if o.Ptr.Deep.Deep == nil { return 0 }; return len(o.Ptr.Deep.Deep.list) }()": int64(0),
		"func() *int64 { if o.Ptr.Deep.Deep == nil { return nil }; return o.Ptr.Deep.Deep.Secs }()": nil,
		"o.Ptr.Deep.Deep != nil && o.Ptr.Deep.Deep.On":                                              false,
		"func() int { if by.P == nil { return 0 }; return len(by.P.list) }()":                       int64(2),
	} {
		v := enter.form(expr)
		if v.Form == nil {
			t.Errorf("%s has no form: %s", expr, v.None)
			continue
		}
		if got := read(v.Form, registers); got != want {
			if at, ok := got.(time.Time); !ok || !at.Equal(want.(time.Time)) {
				t.Errorf("%s is read as %v, want %v", expr, got, want)
			}
		}
	}
	for expr, want := range map[string]any{"out.Name": "deep", "podstepR1": true, "out != nil": true} {
		v := exit.form(expr)
		if v.Form == nil {
			t.Errorf("%s has no form: %s", expr, v.None)
		} else if got := read(v.Form, results); got != want {
			t.Errorf("%s is read as %v, want %v", expr, got, want)
		}
	}
}

// TestNoForms: each expression that cannot be read has its reason.
func TestNoForms(t *testing.T) {
	enter, exit := lookers(t, false), lookers(t, true)
	for expr, want := range map[string]memory.Reason{
		"o.In.Name + by.A":                memory.Computed,
		"!o.In.On":                        memory.Computed,
		"o.In.On && o.Ptr.On":             memory.Computed,
		"by.P != nil && o.Ptr.On":         memory.Computed,
		"out.Name":                        memory.Missing, // a result, at entry
		"fmt.Sprint(o.In.Name)":           memory.Calls,
		"o.In.nowhere":                    memory.Missing,
		"o.Wait.String()":                 memory.Calls,
		"o.In.list":                       memory.Structured,
		"o.In":                            memory.Structured,
		"o.In.list[0]":                    memory.LooksUp,
		"o.In.index[by.A]":                memory.LooksUp,
		"o.Err":                           memory.Text,
		"o.Any":                           memory.Text,
		"f":                               memory.Float,
		"o.Half":                          memory.Float,
		"len(o.Any)":                      memory.Computed,
		"func() int { return 1 }()":       memory.Computed,
		"func(a int) int { return a }(1)": memory.Calls,
	} {
		if v := enter.form(expr); v.None != want {
			t.Errorf("%s: %q, want %q; form %+v", expr, v.None, want, v.Form)
		}
	}
	if v := exit.form("changes.Count"); v.None != memory.Changed {
		t.Errorf("an argument that is changed: %+v", v)
	}
	enter.fn.literal = true
	if v := enter.form("outerVariable.Name"); v.None != memory.Captured {
		t.Errorf("a variable of the function around a closure: %+v", v)
	}
}

// nothing returns the value behind a nil pointer.
func nothing(f *memory.Form) any {
	if !f.Zero {
		return nil
	}
	return map[memory.Kind]any{memory.Int64: int64(0), memory.Bool: false, memory.NotNil: false}[f.Kind]
}

// read reads a value as a probe does, from registers and memory.
func read(f *memory.Form, registers []uintptr) any {
	if f.AMD64.In == memory.Stack {
		return f.AMD64
	}
	at := unsafe.Pointer(&registers[f.AMD64.At])
	for _, h := range f.Hops {
		p := *(*unsafe.Pointer)(at)
		if p == nil {
			return nothing(f)
		}
		at = unsafe.Add(p, h.Offset)
	}
	switch f.Kind {
	case memory.String:
		return *(*string)(at)
	case memory.Bool:
		return *(*bool)(at)
	case memory.Int16:
		return *(*int16)(at)
	case memory.Uint16:
		return *(*uint16)(at)
	case memory.Int64:
		n := *(*int64)(at)
		if f.Names != nil {
			return f.Names[n]
		}
		return n
	case memory.Duration:
		return *(*time.Duration)(at)
	case memory.Time:
		return *(*time.Time)(at)
	case memory.IsNil:
		return *(*uintptr)(at) == 0
	case memory.NotNil:
		return *(*uintptr)(at) != 0
	}
	return reflect.TypeOf(f.Kind)
}
