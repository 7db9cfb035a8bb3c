package pclntab

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"os"
	"sync"
	"testing"

	"github.com/podstep/podstep/probes/inside/toy"
)

// parts returns the table of a program, and the address at which its code begins.
func parts(t testing.TB, name string) (table []byte, text uint64) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	table, err = file.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	return table, file.Section(".text").Addr
}

// TestAgainstGosym: names and addresses are those that debug/gosym reads.
func TestAgainstGosym(t *testing.T) {
	data, text := parts(t, toy.Build(t, ""))
	table, err := Parse(data, text)
	if err != nil {
		t.Fatal(err)
	}
	other, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for f := range table.All() {
		if g := other.Funcs[n]; g.Name != f.Name || g.Entry != f.Entry || g.End != f.End {
			t.Fatalf("function %d is %s at %#x to %#x, and in debug/gosym %s at %#x to %#x", n, f.Name, f.Entry, f.End, g.Name, g.Entry, g.End)
		}
		if file, line, _ := other.PCToLine(f.Entry); f.File() != file || f.Line() != max(line, 0) {
			t.Fatalf("%s is at %s:%d, and in debug/gosym at %s:%d", f.Name, f.File(), f.Line(), file, line)
		}
		n++
		for _, pc := range []uint64{f.Entry, f.End - 1} {
			if found, ok := table.Find(pc); !ok || found.Name != f.Name {
				t.Fatalf("at %#x is %+v, not %s", pc, found, f.Name)
			}
		}
	}
	if n != len(other.Funcs) || n < 1000 {
		t.Errorf("%d functions, and in debug/gosym %d", n, len(other.Funcs))
	}
	if f, ok := table.Find(text - 1); ok {
		t.Errorf("before the code is %+v", f)
	}
	if f, ok := table.ByName("main.no"); ok {
		t.Errorf("main.no is %+v", f)
	}
	if !table.Mentions("main.main") || table.Mentions("main.mai") || table.Mentions("ain.main") {
		t.Error("main.main is not mentioned, or a part of it is")
	}
}

// TestFunctions: some functions' frames and safe points are the known ones.
func TestFunctions(t *testing.T) {
	data, text := parts(t, toy.Build(t, ""))
	table, err := Parse(data, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name             string
		top, asm, inside bool  // inside: a safe point is somewhere in it
		delta            int64 // the largest; 0: not looked at
	}{
		{"runtime.goexit", true, true, false, 0},
		{"runtime.debugCallV2", false, true, false, 160},
		{"main.step", false, false, true, 0},
		{"main.main", false, false, true, 0},
	} {
		f, ok := table.ByName(c.name)
		if !ok {
			t.Fatalf("there is no %s", c.name)
		}
		if d, ok := f.Delta(f.Entry); !ok || d != 0 && !c.top {
			t.Errorf("at its entry %s has a frame of %d bytes", c.name, d)
		}
		inside := false
		for pc := f.Entry; pc < f.End; pc++ {
			inside = inside || f.Safe(pc)
		}
		if f.Top() != c.top || f.Assembly() != c.asm || inside != c.inside || f.SPWrite() || c.delta != 0 && f.MaxDelta() != c.delta {
			t.Errorf("%s: top %v, assembly %v, safe somewhere %v, frame %d", c.name, f.Top(), f.Assembly(), inside, f.MaxDelta())
		}
		if _, ok := f.Delta(f.End); ok || f.Safe(f.End) || f.Safe(f.Entry-1) {
			t.Errorf("%s goes on behind its end", c.name)
		}
	}
}

func TestParseErrors(t *testing.T) {
	data, text := parts(t, toy.Build(t, ""))
	change := func(at int, v byte) []byte {
		b := bytes.Clone(data)
		b[at] = v
		return b
	}
	for name, b := range map[string][]byte{
		"empty": nil, "short": data[:40], "of Go 1.18": change(0, 0xf0), "of another machine": change(6, 2),
		"of 32 bits": change(7, 4), "with too many functions": change(15, 1), "with a part behind its end": change(8+8*6+7, 1),
	} {
		if _, err := Parse(b, text); err == nil {
			t.Errorf("a table that is %s is read", name)
		}
	}
}

// FuzzParse: whatever a table contains, reading it returns an error at worst.
func FuzzParse(f *testing.F) {
	data, text := parts(f, toy.Build(f, ""))
	f.Add(data[:4096], uint64(0), text)
	f.Add(data[:headerSize], uint64(1), text)
	f.Fuzz(func(t *testing.T, b []byte, pc, text uint64) {
		table, err := Parse(b, text)
		if err != nil {
			return
		}
		table.trees = b
		if fn, ok := table.Find(pc); ok {
			fn.Delta(pc)
			fn.Safe(pc)
			fn.MaxDelta()
		}
		table.ByName("main.main")
		n := 0
		for fn := range table.All() {
			fn.Delta(fn.Entry)
			fn.File()
			fn.Line()
			for end, frames := range fn.Stacks() {
				if end > fn.End || len(frames) > maxInlined+1 {
					t.Fatalf("%d frames up to %#x of a function that ends at %#x", len(frames), end, fn.End)
				}
			}
			if n++; n == 10 {
				break
			}
		}
	})
}

// TestByNameAtOnce: several goroutines find functions by name, also while the first one makes the index.
func TestByNameAtOnce(t *testing.T) {
	data, text := parts(t, toy.Build(t, ""))
	for range 200 {
		table, err := Parse(data, text)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if f, ok := table.ByName("main.main"); !ok || f.Name != "main.main" {
					t.Error("there is no main.main")
				}
			})
		}
		wg.Wait()
	}
}
