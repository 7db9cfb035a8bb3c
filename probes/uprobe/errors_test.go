//go:build linux

package uprobe

import (
	"testing"

	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// TestErrors: an error is known by its text, or by its type.
func TestErrors(t *testing.T) {
	p, _, table := toyPlan(t)
	const bias = 0x10000
	types := newErrorTypes(p, table)
	types.bias = bias
	method := func(symbol string) uint64 {
		f, ok := p.Code(symbol)
		if !ok {
			t.Fatalf("the toy has no %s", symbol)
		}
		return f.Entry + bias
	}
	for _, x := range []struct {
		name   string
		method uint64
		text   string
		want   string
	}{
		{"of text", method("errors.(*errorString).Error"), "no such volume", "no such volume"},
		{"of a type without memory", method("context.deadlineExceededError.Error"), "", "context deadline exceeded"},
		{"of a type that a method words", method(toyPackage + "(*odd).Error"), "", "an error of type kubelet.odd, whose text cannot be read"},
		{"of a type with a value", method(toyPackage + "typed.Error"), "", "an error of type kubelet.typed, whose text cannot be read"},
		{"of a method of another name", method(toyPackage + "New"), "", "an error whose type and text cannot be read"},
		{"of no method", 1, "", "an error whose type and text cannot be read"},
		{"none", 0, "", ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := &seen{at: &planned{side: &side{}}}
			r.put(1, int(x.method))
			if x.text != "" {
				r.put(0, x.text)
			}
			err, known := types.error(&r.Record, &source{slot: 0})
			if !known || err == nil && x.want != "" || err != nil && err.Error() != x.want {
				t.Errorf("the error is %v (%v), want %q", err, known, x.want)
			}
		})
	}
	for _, s := range []*source{nil, {slot: 5}, {slot: -1}} {
		if err, known := types.error(&reading.Record{}, s); known || err != nil {
			t.Errorf("of %+v the error is %v (%v)", s, err, known)
		}
	}

	wraps := types.wraps()
	if w, ok := wraps[method("errors.(*errorString).Error")]; !ok || w.How != reading.WrapText || w.Hops != 1 {
		t.Errorf("the text of errors.New is found by %+v (%v)", w, ok)
	}
	if w, ok := wraps[method("fmt.(*wrapError).Error")]; !ok || w.How != reading.WrapText {
		t.Errorf("the text of fmt.Errorf is found by %+v (%v)", w, ok)
	}
	if len(wraps) != 2 {
		t.Errorf("texts are found for %d methods", len(wraps))
	}
}

// TestWraps: the program in the kernel has room for the types of each table, on both receivers.
func TestWraps(t *testing.T) {
	for _, version := range memory.Minors() {
		table, err := memory.For(version + ".0")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		table.All(func(step string, _ memory.Side, name string, v memory.Value) {
			if step == memory.Errors && v.Form != nil {
				n += len(methods(name))
			}
		})
		if n == 0 || n > 256 {
			t.Errorf("%s has %d methods of errors", version, n)
		}
	}
}
