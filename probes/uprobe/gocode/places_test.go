package gocode

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
	"github.com/podstep/podstep/probes/uprobe/toy"
)

func opened(t testing.TB) (Text, *pclntab.Table) {
	t.Helper()
	data, err := os.ReadFile(toy.Build(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	table, text, err := pclntab.Open(file, data)
	if err != nil {
		t.Fatal(err)
	}
	return Text(text), table
}

// TestPlaces: in each function that Go compiled, the frame stands behind the entry, and is gone behind each exit.
// Behind the exit follows its return.
func TestPlaces(t *testing.T) {
	text, table := opened(t)
	n := 0
	for f := range table.All() {
		frame := f.MaxDelta()
		entry, err := text.Entry(f)
		if err != nil || frame == 0 || f.Assembly() {
			continue
		}
		if d, ok := f.Delta(entry.Next()); !ok || d != frame {
			t.Errorf("behind the entry of %s its frame has %d bytes, of %d", f.Name, d, frame)
		}
		exits, err := text.Exits(f)
		if err != nil && !errors.Is(err, ErrNoReturn) {
			t.Errorf("the exits of %s: %v", f.Name, err)
		}
		for _, x := range exits {
			n++
			if x.Op == x86asm.RET {
				continue
			}
			if d, ok := f.Delta(x.Next()); !ok || d != 0 {
				t.Errorf("behind the exit of %s at %#x its frame has %d bytes", f.Name, x.PC, d)
			}
			if ret, err := text.behindPadding(x.Next()); err != nil || ret.Op != x86asm.RET {
				t.Errorf("behind the exit of %s at %#x is %v (%v)", f.Name, x.PC, ret.Inst, err)
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d exits were found", n)
	}
}

// TestNoPlaces: an address outside the program's code, or at no instruction, gives an error.
func TestNoPlaces(t *testing.T) {
	text, table := opened(t)
	f, ok := table.ByName("main.main")
	if !ok {
		t.Fatal("there is no main.main")
	}
	elsewhere := Text{Addr: text.Addr + 1<<32, Data: text.Data}
	if i, err := elsewhere.Entry(f); err == nil {
		t.Errorf("its entry is %v", i.Inst)
	}
	if all, err := elsewhere.Exits(f); err == nil {
		t.Errorf("its exits are %v", all)
	}
	bad := Text{Addr: f.Entry, Data: bytes.Repeat([]byte{0x06}, int(f.End-f.Entry))}
	if i, err := bad.Entry(f); err == nil {
		t.Errorf("its entry is %v", i.Inst)
	}
	if all, err := bad.Function(f); err == nil {
		t.Errorf("it is %v", all)
	}
}

// FuzzPlaces: whatever a function's code is, its places are in it.
func FuzzPlaces(f *testing.F) {
	text, table := opened(f)
	fn, ok := table.ByName("main.main")
	if !ok {
		f.Fatal("there is no main.main")
	}
	f.Add(text.Data[fn.Entry-text.Addr : fn.End-text.Addr])
	f.Fuzz(func(t *testing.T, b []byte) {
		code := Text{Addr: fn.Entry, Data: b}
		if i, err := code.Entry(fn); err == nil && (i.PC < fn.Entry || i.PC >= fn.End) {
			t.Errorf("its entry is at %#x", i.PC)
		}
		all, _ := code.Exits(fn)
		for _, i := range all {
			if i.PC < fn.Entry || i.PC >= fn.End {
				t.Errorf("it returns at %#x", i.PC)
			}
		}
	})
}
