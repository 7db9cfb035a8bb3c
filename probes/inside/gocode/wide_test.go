package gocode_test

import (
	"debug/elf"
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/pclntab"
)

// TestWide: in each function of this program, a debugger's breakpoint stands at an instruction of several bytes, at
// the place or right next to it.
func TestWide(t *testing.T) {
	if runtime.GOARCH != "amd64" || runtime.GOOS != "linux" {
		t.Skip("the code is read of programs for Linux on amd64")
	}
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	table, text, err := pclntab.Open(file, data)
	if err != nil {
		t.Fatal(err)
	}
	found, none := 0, 0
	for f := range table.All() {
		places, err := gocode.Text(text).Exits(f)
		if err != nil {
			continue
		}
		if entry, err := gocode.Text(text).Entry(f); err == nil {
			places = append(places, entry)
		}
		for _, at := range places {
			wide, ok := gocode.Text(text).Wide(f, at)
			if !ok {
				none++
				continue
			}
			found++
			i, err := gocode.Text(text).Decode(at)
			w, err2 := gocode.Text(text).Decode(wide)
			if err := errors.Join(err, err2); err != nil {
				t.Fatal(err)
			}
			if w.Len < 2 {
				t.Fatalf("%s: the instruction at %#x has one byte", f.Name, wide)
			}
			if wide != at && w.Next() != at && i.Next() != wide {
				t.Fatalf("%s: %#x is not next to %#x", f.Name, wide, at)
			}
		}
	}
	t.Logf("%d places, none at %d others", found, none)
	if found < 1000 || none > found {
		t.Errorf("only %d places were found, and none at %d", found, none)
	}
}
