//go:build linux && (amd64 || arm64)

package park

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/toy"
)

var idle = toy.Options{Workers: 1, Pace: time.Millisecond}

func opened(t testing.TB, version string, flags ...string) (*Program, *toy.Toy) {
	t.Helper()
	y := toy.Start(t, toy.Build(t, version, flags...), idle)
	p, err := Open(y.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, y
}

// arches are the architectures for whose programs it is known how goroutines are parked.
var arches = []string{"amd64", "arm64"}

// lookedAt returns the toy's program for an architecture, which need not be this machine's. It does not run.
func lookedAt(t testing.TB, arch, version string, flags ...string) *Program {
	t.Helper()
	if arch != runtime.GOARCH {
		t.Setenv("GOARCH", arch)
	}
	data, err := os.ReadFile(toy.Build(t, version, flags...))
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{file: data}
	if err := p.look(file); err != nil {
		t.Fatal(err)
	}
	return p
}

// onEach runs a test with the toy's program for each architecture.
func onEach(t *testing.T, test func(*testing.T, *Program)) {
	for _, arch := range arches {
		t.Run(arch, func(t *testing.T) { test(t, lookedAt(t, arch, "")) })
	}
}

// TestOpen: all that parking needs is found in stripped programs, however they were linked. The stack that it takes
// is there behind any function's prologue.
func TestOpen(t *testing.T) {
	ways := map[string][]string{"": nil, "position-independent": {"-buildmode=pie"}}
	if os.Getenv("PODSTEP_VERSIONS") != "" {
		for _, v := range toy.Versions {
			ways[v] = nil
		}
	}
	for name, flags := range ways {
		version := ""
		if strings.HasPrefix(name, "go1") {
			version = name
		}
		t.Run("built "+name, func(t *testing.T) {
			p, _ := opened(t, version, flags...)
			if p.bias != 0 != (name == "position-independent") {
				t.Errorf("the program is loaded at %#x", p.bias)
			}
			t.Log(p.Go)
		})
		for _, arch := range arches {
			t.Run("built "+name+" for "+arch, func(t *testing.T) {
				p := lookedAt(t, arch, version, flags...)
				// The stack that is left to functions that do not check it is 800 bytes. On arm64 two versions of Go take more.
				room := uint64(800)
				if arch == "arm64" && (strings.HasPrefix(version, "go1.22") || strings.HasPrefix(version, "go1.23")) {
					room += 32
				}
				if p.need > room || p.need < p.path.size {
					t.Errorf("parking takes %d bytes of stack, %d of them for its frames", p.need, p.path.size)
				}
				t.Logf("%d bytes of stack", p.need)
			})
		}
	}
}

// TestPlaces: goroutines can be parked at a function's entry and its exits.
func TestPlaces(t *testing.T) { onEach(t, testPlaces) }

func testPlaces(t *testing.T, p *Program) {
	f, ok := p.table.ByName("main.step")
	if !ok {
		t.Fatal("there is no main.step")
	}
	entry, why := p.Entry("main.step")
	if why != nil {
		t.Fatal(why)
	}
	if d, _ := f.Delta(entry.Next); d != f.MaxDelta() || entry.Function != "main.step" || entry.Address-f.Entry > 40 {
		t.Errorf("the entry is %+v, behind which the frame has %d bytes", entry, d)
	}
	exits, why := p.Exits("main.step")
	if why != nil || len(exits) == 0 {
		t.Fatal(exits, why)
	}
	for _, e := range exits {
		if i, err := p.isa.decode(e.Next); err != nil || !i.returns {
			t.Errorf("behind the exit %+v is %v", e, i.text)
		}
	}
	for name, want := range map[string]Reason{"main.no": NoFunction, "main.floats": Floats, "main.lateFloat": Floats, "main.half": Floats, "main.quarter": Floats, "runtime.newproc": InRuntime, "runtime.memmove": InRuntime} {
		if place, why := p.Entry(name); why == nil || why.Reason != want {
			t.Errorf("the entry of %s is %+v, %v", name, place, why)
		}
	}
	for pc := f.Entry; pc < f.End; pc++ {
		place, why := p.Place(pc)
		if is := pc == entry.Address || slices.ContainsFunc(exits, func(e Place) bool { return e.Address == pc }); is != (why == nil) {
			t.Errorf("at %#x a goroutine is parked: %+v, %v", pc, place, why)
		}
	}
}

// TestOpenErrors: a process whose goroutines cannot be parked is refused.
func TestOpenErrors(t *testing.T) {
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	o := idle
	o.Env = []string{"GODEBUG=gctrace=0,gcstoptheworld=1"}
	y := toy.Start(t, toy.Build(t, ""), o)
	for pid, want := range map[int]string{sleep.Process.Pid: "no Go program", y.PID: "gcstoptheworld", 1 << 30: "no such file"} {
		if _, err := Open(pid); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("process %d: %v, not %q", pid, err, want)
		}
	}
}

// TestBlocked: a thread that waits gets no signal but those for which the whole program may wait.
func TestBlocked(t *testing.T) {
	open := map[int]bool{int(Signal): true, 33: true, 34: true}
	for s := 1; s <= 64; s++ {
		if is := blocked&(1<<(s-1)) == 0; is != open[s] {
			t.Errorf("signal %d reaches a thread that waits: %v", s, is)
		}
	}
}

func TestParseSyscall(t *testing.T) {
	number := strconv.Itoa(unix.SYS_PPOLL) + " "
	for text, want := range map[string]bool{
		number + "0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": true,
		number + "0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x0 0xc000040e90 0x40a8ee\n":        false,
		number + "0xc000040f00 0x1 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": false,
		number + "0xc000040f00 0x0 0xc000040f10 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": false,
		"219 0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n":      false,
		"running\n": false, "-1 0x7ffe 0x40a8ee\n": false, "": false,
	} {
		if at, ok := parseSyscall(text); ok != want || ok && at != 0xc000040f00 {
			t.Errorf("%q is %#x, %v", text, at, ok)
		}
	}
}

func FuzzParseSyscall(f *testing.F) {
	f.Add("271 0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n")
	f.Fuzz(func(_ *testing.T, text string) { parseSyscall(text) })
}

func FuzzDecodeRecord(f *testing.F) {
	w := Wait{Hold: 1, Until: time.Hour}
	for _, l := range []*layout{&x86Layout, &a64Layout} {
		b := make([]byte, l.size)
		w.encode(l, b)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, l := range []*layout{&x86Layout, &a64Layout} {
			var w, back Wait
			if !w.decode(l, b) {
				continue
			}
			again := make([]byte, l.size)
			w.encode(l, again)
			if !back.decode(l, again) || back.Hold != w.Hold || back.Since != w.Since || back.Place != w.Place || back.Until != w.Until {
				t.Errorf("%+v is written as another record, %+v", w, back)
			}
		}
	})
}
