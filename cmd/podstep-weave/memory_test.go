package main

import (
	"os"
	"testing"
)

func TestCompilerMemory(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		machine uint64
		cores   int
		want    uint64
	}{
		{0, 2, 0},
		{1 * gib, 2, 0},
		{3 * gib, 2, 3 * gib / 4},
		{4 * gib, 2, gib},
		{64 * gib, 2, gib},
		{16 * gib, 16, gib / 2},
		{16 * gib, 32, 0},
	} {
		if got := compilerMemory(c.machine, c.cores); got != c.want {
			t.Errorf("of %d bytes and %d cores a compiler gets %d, want %d", c.machine, c.cores, got, c.want)
		}
	}
	if machineMemory() == 0 {
		t.Error("this machine has no memory")
	}
}

// TestMemoryOfOthers: only the compiler gets the memory, and only if the environment says
// nothing about the collector.
func TestMemoryOfOthers(t *testing.T) {
	t.Setenv(memoryVariable, "")
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOGC", "200")
	if err := grantMemory(); err != nil || os.Getenv(memoryVariable) != "" {
		t.Errorf("with GOGC set a compiler is granted %q, %v", os.Getenv(memoryVariable), err)
	}
	t.Setenv("GOGC", "")
	t.Setenv(memoryVariable, "1000")
	if err := useMemory("/go/pkg/tool/link"); err != nil || os.Getenv("GOGC") != "" {
		t.Errorf("the linker runs with GOGC=%s, %v", os.Getenv("GOGC"), err)
	}
	if err := useMemory("/go/pkg/tool/compile"); err != nil || os.Getenv("GOGC") != "off" || os.Getenv("GOMEMLIMIT") != "1000" {
		t.Errorf("the compiler runs with GOGC=%s GOMEMLIMIT=%s, %v", os.Getenv("GOGC"), os.Getenv("GOMEMLIMIT"), err)
	}
}
