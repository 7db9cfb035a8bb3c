package gotypes

import (
	"bytes"
	"debug/elf"
	"os"
	"reflect"
	"testing"

	"github.com/podstep/podstep/probes/pclntab"
)

// outer and inner are structures of the test's own program.
type outer struct {
	First string
	Inner inner
}

type inner struct {
	Small  bool
	Number int64
}

// TestOffsets: members of this program's own types are found where they are, and no others.
func TestOffsets(t *testing.T) {
	types := Read(own(t).Types())
	o := reflect.TypeOf(outer{})
	within := o.Field(1).Offset + o.Field(1).Type.Field(1).Offset
	for _, x := range []struct {
		name, path string
		want       uintptr
		there      bool
	}{
		{"gotypes.outer", "First", 0, true},
		{"gotypes.outer", "Inner", o.Field(1).Offset, true},
		{"gotypes.outer", "Inner.Number", within, true},
		{"gotypes.outer", "Inner.Weather", 0, false},
		{"gotypes.outer", "First.Weather", 0, false},
		{"gotypes.outer", "", 0, false},
		{"gotypes.nobody", "First", 0, false},
	} {
		at, n := types.Offsets(x.name, x.path)
		if there := len(at) == 1; there != x.there || there && at[0] != uint64(x.want) || n > 1 {
			t.Errorf("%s of %s is at %v in %d structures, want %d, %v", x.path, x.name, at, n, x.want, x.there)
		}
	}
}

func own(t testing.TB) *pclntab.Table {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("this machine has no /proc")
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	table, _, err := pclntab.Open(file, data)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// FuzzRead: whatever bytes there are, reading ends, and names and offsets stay within bounds.
func FuzzRead(f *testing.F) {
	s := own(f).Types()
	f.Add(s.Addr, s.Data[:min(len(s.Data), 1<<14)])
	f.Fuzz(func(t *testing.T, addr uint64, data []byte) {
		types := Read(pclntab.Section{Addr: addr, Data: data})
		for name, all := range types.byName {
			for _, s := range all {
				for _, m := range s.members {
					types.Offsets(name, m.name+".x")
				}
			}
		}
	})
}
