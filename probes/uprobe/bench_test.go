//go:build bench && linux

package uprobe

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
)

// These benchmarks measure what it costs once to attach: to read the kubelet's program, and to load the program into
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
		k, err := load(true)
		if err != nil {
			b.Fatal(err)
		}
		if err := k.close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHit measures a hit, and the share of it that the program in the kernel takes, by the kernel's own clock.
// At an entry the program also reads from where the function was called.
func BenchmarkHit(b *testing.B) {
	for _, side := range []struct {
		name  string
		flags uint8
	}{{"entry", 0}, {"exit", reading.AtExit}} {
		b.Run(side.name, func(b *testing.B) {
			k := measuredKernel(b, side.flags)
			stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
			if err != nil {
				b.Fatal(err)
			}
			defer stats.Close()
			for n := 0; b.Loop(); n++ {
				measured(1)
				if n%ringRoom == 0 {
					b.StopTimer()
					if _, err := k.drain(); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
			in, err := k.objects.Step.Stats()
			if err != nil {
				b.Fatal(err)
			}
			if lost := k.count(countLost); in.RunCount < uint64(b.N) || lost > 0 {
				b.Fatalf("in %d calls the program has run %d times, and found no room %d times", b.N, in.RunCount, lost)
			}
			b.ReportMetric(float64(in.Runtime)/float64(in.RunCount), "kernel-ns/op")
		})
	}
}

// ringRoom is a number of records for which there is room in the ring.
const ringRoom = 1000

// measuredKernel makes the program run at the function that is measured.
func measuredKernel(b *testing.B, flags uint8) *kernel {
	b.Helper()
	layout, err := goroutineLayout(runtime.Version())
	if err != nil {
		b.Fatal(err)
	}
	k, err := load(true)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = k.close() })
	p := &plan{layout: layout, reads: make([]reading.Read, typicalReads)}
	if err := k.fill(p, nil); err != nil {
		b.Fatal(err)
	}
	if err := k.objects.Places.Put(uint32(p.measuredPlace()), reading.Spec{Reads: typicalReads, Flags: flags}); err != nil {
		b.Fatal(err)
	}
	offset, err := measuredOffset()
	if err != nil {
		b.Fatal(err)
	}
	if k.links, err = k.attach(os.Getpid(), "/proc/self/exe", []uint64{offset}, []uint64{p.measuredPlace()}); err != nil {
		b.Fatal(err)
	}
	return k
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

// live returns how many bytes are in use on the heap.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
