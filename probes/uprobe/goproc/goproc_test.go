package goproc

import (
	"debug/elf"
	"os"
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
