//go:build linux

package uprobe

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/podstep/podstep/probes/inside/reading"
)

// TestLayout: the structs that the program and this package share have the same form in both, on each architecture.
func TestLayout(t *testing.T) {
	for _, name := range objectFiles {
		spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(contents(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		for name, here := range map[string]any{
			"record": reading.Record{}, "place": reading.Spec{}, "read": reading.Read{}, "wrap": reading.Wrap{}, "layout": reading.Layout{},
		} {
			checkLayout(t, spec, name, reflect.TypeOf(here))
		}
	}
}

func checkLayout(t *testing.T, spec *ebpf.CollectionSpec, name string, typ reflect.Type) {
	t.Helper()
	var there *btf.Struct
	if err := spec.Types.TypeByName(name, &there); err != nil {
		t.Fatal(err)
	}
	if uintptr(there.Size) != typ.Size() {
		t.Errorf("%s has %d bytes in the program, %d here", name, there.Size, typ.Size())
	}
	offsets := map[string]uintptr{}
	for _, m := range there.Members {
		offsets[m.Name] = uintptr(m.Offset.Bytes())
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Name == "_" {
			continue
		}
		if at, ok := offsets[strings.ToLower(f.Name)]; !ok || at != f.Offset {
			t.Errorf("%s.%s is at %d, in the program at %d (%v)", name, f.Name, f.Offset, at, ok)
		}
	}
}
