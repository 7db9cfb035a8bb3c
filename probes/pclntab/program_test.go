package pclntab

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// linked returns a program that Go or a C linker has linked, with its symbols.
func linked(t *testing.T, cgo string, flags ...string) (*elf.File, []byte) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module linked\n\ngo 1.22\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "linked")
	cmd := exec.Command("go", append([]string{"build", "-o", out}, append(flags, ".")...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED="+cgo)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return file, data
}

// linking is a way in which a program can be linked.
type linking struct {
	name, cgo string
	flags     []string
}

// linkings returns the ways of linking that this machine has.
func linkings(t *testing.T) []linking {
	all := []linking{{"by Go", "0", nil}, {"by Go, position-independent", "0", []string{"-buildmode=pie"}}}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Log("there is no C linker")
		return all
	}
	return append(all, linking{"by a C linker", "1", []string{"-ldflags=-linkmode=external"}},
		linking{"by a C linker, position-independent", "1", []string{"-ldflags=-linkmode=external", "-buildmode=pie"}})
}

// TestOpen: functions are where the symbols have them, however the program was linked. A C
// linker puts code of its own before Go's.
func TestOpen(t *testing.T) {
	for _, c := range linkings(t) {
		t.Run(c.name, func(t *testing.T) {
			file, data := linked(t, c.cgo, c.flags...)
			table, text, err := Open(file, data)
			if err != nil {
				t.Fatal(err)
			}
			symbols, err := file.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range symbols {
				if s.Name != "main.main" {
					continue
				}
				if f, ok := table.ByName("main.main"); !ok || f.Entry != s.Value {
					t.Errorf("main.main is %+v, and the symbols have it at %#x", f, s.Value)
				}
				if s.Value < text.Addr || s.Value >= text.Addr+uint64(len(text.Data)) {
					t.Errorf("main.main at %#x is not in the code at %#x", s.Value, text.Addr)
				}
				return
			}
			t.Error("there is no symbol main.main")
		})
	}
}

// TestOpenErrors: a section that the file does not have as it is in memory is not used.
func TestOpenErrors(t *testing.T) {
	for name, c := range map[string]struct {
		section string
		change  func(*elf.Section)
	}{
		"behind the end": {".gopclntab", func(s *elf.Section) { s.Offset = 1 << 40 }},
		"too large":      {".gopclntab", func(s *elf.Section) { s.Size = 1 << 63 }},
		"compressed":     {".gopclntab", func(s *elf.Section) { s.Flags |= elf.SHF_COMPRESSED }},
		"no code":        {".text", func(s *elf.Section) { s.Type = elf.SHT_NOBITS }},
	} {
		file, data := linked(t, "0")
		c.change(file.Section(c.section))
		if _, _, err := Open(file, data); err == nil || !strings.Contains(err.Error(), c.section) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
