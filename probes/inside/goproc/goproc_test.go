package goproc

import (
	"debug/dwarf"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
)

// TestMinor: Minor reads the minor version of releases, release candidates and development versions.
func TestMinor(t *testing.T) {
	for version, want := range map[string]int{"go1.22": 22, "go1.26.8": 26, "go1.25rc1": 25, "devel go1.27-abc": 27} {
		if n, ok := Minor(version); !ok || n != want {
			t.Errorf("%s: %d, %v", version, n, ok)
		}
	}
	for _, version := range []string{"", "devel", "go2.1", "gone1.22"} {
		if n, ok := Minor(version); ok {
			t.Errorf("%q is taken for one of 1.%d", version, n)
		}
	}
}

// TestBias: in the file, a function of this process is at its address less the bias.
func TestBias(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no auxiliary vector to read but on Linux")
	}
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	bias, err := Bias(os.Getpid(), &f.FileHeader)
	if err != nil {
		t.Fatal(err)
	}
	at := uint64(reflect.ValueOf(TestBias).Pointer()) - bias
	if text := f.Section(".text"); at < text.Addr || at >= text.Addr+text.Size {
		t.Errorf("with bias %#x a function is at %#x, outside of the code at %#x", bias, at, text.Addr)
	}
	if other := f.FileHeader; other.Type == elf.ET_EXEC {
		other.Entry++
		if _, err := Bias(os.Getpid(), &other); err == nil {
			t.Error("a program that is not loaded where it was linked to be is taken")
		}
	}
}

// TestLayoutOf: the compiler at hand lays out a goroutine's data on both architectures as it is known here.
func TestLayoutOf(t *testing.T) {
	n, _ := Minor(runtime.Version())
	want, ok := LayoutOf(n)
	if !ok {
		t.Skipf("the layout of %s is not known", runtime.Version())
	}
	for _, arch := range []string{"amd64", "arm64"} {
		g := typeG(t, arch)
		got := map[string]uint32{}
		for _, m := range g.Field {
			got[m.Name] = uint32(m.ByteOffset)
		}
		if is := (Layout{got["goid"], got["parentGoid"], got["startpc"], got["syscallsp"]}); is != want || got["syscallpc"] != want.Syscall+8 {
			t.Errorf("on %s it is %+v, and want %+v", arch, is, want)
		}
	}
}

// typeG returns the type of a goroutine's data in a program for an architecture.
func typeG(t *testing.T, arch string) *dwarf.StructType {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module empty\n\ngo 1.22\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "build", "-o", "empty", ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	f, err := elf.Open(filepath.Join(dir, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			t.Fatalf("the program for %s has no runtime.g: %v", arch, err)
		}
		if e.Tag == dwarf.TagStructType && e.Val(dwarf.AttrName) == "runtime.g" {
			typ, err := data.Type(e.Offset)
			if err != nil {
				t.Fatal(err)
			}
			return typ.(*dwarf.StructType)
		}
	}
}
