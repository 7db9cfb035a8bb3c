//go:build bench && linux

package uprobe

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
)

// What it costs to attach, once: reading the kubelet's program, and loading the program into
// the kernel, which verifies it.

func BenchmarkRead(b *testing.B) {
	kubelet := filepath.Join(os.Getenv("PODSTEP_BIN"), "kubelet")
	c := probes.MustLoad()
	var p *Probe
	var err error
	defer reportCPU(b)()
	for b.Loop() {
		if p, err = Read(c, kubelet, probes.KubernetesVersion, 1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(live())/(1<<20), "MiB-live")
	runtime.KeepAlive(p)
}

func BenchmarkLoad(b *testing.B) {
	defer reportCPU(b)()
	for b.Loop() {
		k, err := load(false)
		if err != nil {
			b.Fatal(err)
		}
		if err := k.close(); err != nil {
			b.Fatal(err)
		}
	}
}

// reportCPU reports the CPU that this process takes until the returned function is called.
func reportCPU(b *testing.B) (end func()) {
	before := cpu()
	return func() { b.ReportMetric(float64((cpu()-before).Milliseconds())/float64(b.N), "CPU-ms/op") }
}

func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// live is how many bytes are in use on the heap.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
