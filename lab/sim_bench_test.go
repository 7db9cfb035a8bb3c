//go:build bench

package lab_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
)

// TestBenchSim measures how long a sim lab takes until its node is Ready, and how much memory all its parts use. The
// lab with containerd is measured for comparison.
func TestBenchSim(t *testing.T) {
	const starts = 5
	var took []time.Duration
	var memory int
	for i := range starts {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			began := time.Now()
			l := labtest.StartSim(t)
			if i > 0 { // the first one warms the machine's caches
				took = append(took, time.Since(began))
			}
			memory = max(memory, shared(t, l))
		})
	}
	slices.Sort(took)
	fmt.Printf("sim lab Ready, warm: median %v (aim 15s), worst %v; %d MiB (aim 1228)\n",
		took[len(took)/2].Round(10*time.Millisecond), took[len(took)-1].Round(10*time.Millisecond), memory)
	if os.Geteuid() != 0 {
		fmt.Println("the lab with containerd, to compare with, needs root")
		return
	}
	began := time.Now()
	l := labtest.Start(t)
	real := time.Since(began)
	realMemory := shared(t, l)
	fmt.Printf("containerd lab Ready: %v, %d MiB; ratio %.2f, %.2f\n",
		real.Round(10*time.Millisecond), realMemory, float64(took[len(took)/2])/float64(real), float64(memory)/float64(realMemory))
}

// shared returns the memory of a lab's processes in MiB. Memory that they share, such as the program itself, counts
// once.
func shared(t *testing.T, l *labtest.Lab) int {
	t.Helper()
	kib := 0
	for name, pid := range l.State.Pids {
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
		if err != nil {
			t.Fatalf("read memory of %s: %v", name, err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); f[0] == "Pss:" {
				n, err := strconv.Atoi(f[1])
				if err != nil {
					t.Fatalf("read memory of %s: %v", name, err)
				}
				kib += n
			}
		}
	}
	return kib >> 10
}
