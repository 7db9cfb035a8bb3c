package gocode

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/podstep/podstep/probes/inside/toy"
	"github.com/podstep/podstep/probes/pclntab"
)

// arches are the architectures of which the places are known.
var arches = []string{"amd64", "arm64"}

// opened returns the toy's code for an architecture, with its table.
func opened(t testing.TB, arch string) (code, *pclntab.Table) {
	t.Helper()
	if arch != runtime.GOARCH {
		t.Setenv("GOARCH", arch)
	}
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
	c, err := Of(file.Machine, text)
	if err != nil || c.Arch() != arch {
		t.Fatalf("the toy is for %v: %v", file.Machine, err)
	}
	return code{c, c.(decoder)}, table
}

// code is a program's code, with how it is decoded.
type code struct {
	Code
	decoder
}

// with returns the code of other bytes.
func (c code) with(s pclntab.Section) code {
	if c.Arch() == "arm64" {
		return code{ARM64(s), ARM64(s)}
	}
	return code{Text(s), Text(s)}
}

// section returns the bytes.
func (c code) section() pclntab.Section {
	if text, ok := c.Code.(Text); ok {
		return pclntab.Section(text)
	}
	return pclntab.Section(c.Code.(ARM64))
}

// TestPlaces: in each function that Go compiled, the frame stands behind the entry, and is gone behind each exit.
// Behind the exit follows its return.
func TestPlaces(t *testing.T) {
	for _, arch := range arches {
		t.Run(arch, func(t *testing.T) {
			text, table := opened(t, arch)
			n := 0
			for f := range table.All() {
				if f.MaxDelta() > 0 && !f.Assembly() {
					n += checkPlaces(t, text, f)
				}
			}
			if n < 1000 {
				t.Errorf("only %d exits were found", n)
			}
		})
	}
}

// checkPlaces checks the places of a function that has a frame. It returns how many exits there are.
func checkPlaces(t *testing.T, text code, f *pclntab.Func) int {
	t.Helper()
	frame := f.MaxDelta()
	entry, err := text.Entry(f)
	if err != nil {
		return 0
	}
	if i, err := text.decode(entry); err != nil {
		t.Error(err)
	} else if d, ok := f.Delta(i.next); !ok || d != frame {
		t.Errorf("behind the entry of %s its frame has %d bytes, of %d", f.Name, d, frame)
	}
	exits, err := text.Exits(f)
	if err != nil && !errors.Is(err, ErrNoReturn) {
		t.Errorf("the exits of %s: %v", f.Name, err)
	}
	for _, pc := range exits {
		x, err := text.decode(pc)
		if err != nil {
			t.Error(err)
		}
		if x.returns {
			continue
		}
		if d, ok := f.Delta(x.next); !ok || d != 0 {
			t.Errorf("behind the exit of %s at %#x its frame has %d bytes", f.Name, pc, d)
		}
		if ret, err := behindPadding(text, x.next); err != nil || !ret.returns {
			t.Errorf("behind the exit of %s at %#x is no return (%v)", f.Name, pc, err)
		}
	}
	return len(exits)
}

// TestNoPlaces: an address outside the program's code gives an error. So does an address at no instruction on amd64; on
// arm64 there may be a constant, and no place is found there.
func TestNoPlaces(t *testing.T) {
	for _, arch := range arches {
		t.Run(arch, func(t *testing.T) {
			text, table := opened(t, arch)
			f, ok := table.ByName("main.main")
			if !ok {
				t.Fatal("there is no main.main")
			}
			s := text.section()
			elsewhere := text.with(pclntab.Section{Addr: s.Addr + 1<<32, Data: s.Data})
			if at, err := elsewhere.Entry(f); err == nil {
				t.Errorf("its entry is %#x", at)
			}
			if all, err := elsewhere.Exits(f); err == nil {
				t.Errorf("its exits are %#x", all)
			}
			bad := text.with(pclntab.Section{Addr: f.Entry, Data: bytes.Repeat([]byte{0x06}, int(f.End-f.Entry))})
			if all, err := bad.Exits(f); err == nil {
				t.Errorf("its exits are %#x", all)
			}
			if arch == "amd64" {
				if at, err := bad.Entry(f); err == nil {
					t.Errorf("its entry is %#x", at)
				}
				if all, err := bad.Code.(Text).Function(f); err == nil {
					t.Errorf("it is %v", all)
				}
			}
		})
	}
	if c, err := Of(elf.EM_RISCV, pclntab.Section{}); err == nil {
		t.Errorf("the code of RISC-V is %v", c)
	}
}

// TestLoops: a function without a frame that comes back to where it begins has no entry.
func TestLoops(t *testing.T) {
	text, table := opened(t, "arm64")
	for f := range table.All() {
		if f.MaxDelta() > 0 || f.End-f.Entry < 8 {
			continue
		}
		loop := func(word ...byte) pclntab.Section {
			nop := []byte{0x1f, 0x20, 0x03, 0xd5}
			return pclntab.Section{Addr: f.Entry, Data: slices.Concat(nop, word, bytes.Repeat(nop, int(f.End-f.Entry)/4-2))}
		}
		for name, word := range map[string][]byte{
			"B": {0xff, 0xff, 0xff, 0x17}, "B.NE": {0xe1, 0xff, 0xff, 0x54}, "CBZ": {0xe0, 0xff, 0xff, 0xb4}, "TBNZ": {0xe0, 0xff, 0x07, 0x37},
		} {
			if at, err := text.with(loop(word...)).Entry(f); !errors.Is(err, ErrLoop) {
				t.Errorf("with %s back to its begin it has the entry %#x: %v", name, at, err)
			}
		}
		for name, word := range map[string][]byte{"BL": {0xff, 0xff, 0xff, 0x97}, "ADR": {0xe0, 0xff, 0xff, 0x10}, "a constant": {0xff, 0xff, 0xff, 0xff}} {
			if at, err := text.with(loop(word...)).Entry(f); err != nil || at != f.Entry {
				t.Errorf("with %s it has the entry %#x: %v", name, at, err)
			}
		}
		return
	}
	t.Error("each function has a frame")
}

// FuzzPlaces: whatever a function's code is, its places are in it.
func FuzzPlaces(f *testing.F) { fuzzPlaces(f, "amd64") }

// FuzzPlacesOnARM64 is FuzzPlaces on arm64.
func FuzzPlacesOnARM64(f *testing.F) { fuzzPlaces(f, "arm64") }

func fuzzPlaces(f *testing.F, arch string) {
	text, table := opened(f, arch)
	fn, ok := table.ByName("main.main")
	if !ok {
		f.Fatal("there is no main.main")
	}
	s := text.section()
	f.Add(s.Data[fn.Entry-s.Addr : fn.End-s.Addr])
	f.Fuzz(func(t *testing.T, b []byte) {
		code := text.with(pclntab.Section{Addr: fn.Entry, Data: b})
		all, _ := code.Exits(fn)
		if at, err := code.Entry(fn); err == nil {
			all = append(all, at)
		}
		for _, at := range all {
			if at < fn.Entry || at >= fn.End {
				t.Errorf("it has a place at %#x", at)
			}
		}
	})
}
