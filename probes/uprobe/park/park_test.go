//go:build linux && amd64

package park

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/toy"
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
		t.Run("built "+name, func(t *testing.T) {
			version := ""
			if strings.HasPrefix(name, "go1") {
				version = name
			}
			p, _ := opened(t, version, flags...)
			const room = 800 // the stack that is left to functions that do not check it
			if p.need > room || p.need < p.path.size() {
				t.Errorf("parking takes %d bytes of stack, %d of them for its frames", p.need, p.path.size())
			}
			if p.bias != 0 != (name == "position-independent") {
				t.Errorf("the program is loaded at %#x", p.bias)
			}
			t.Logf("%s: %d bytes of stack", p.Go, p.need)
		})
	}
}

// TestPlaces: goroutines can be parked at a function's entry and its exits.
func TestPlaces(t *testing.T) {
	p, _ := opened(t, "")
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
		if i, err := p.text.Decode(e.Next); err != nil || i.Op != x86asm.RET {
			t.Errorf("behind the exit %+v is %v", e, i.Inst)
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

// TestFrames: the runtime can walk the frames of a wait to where the goroutine was, and the registers come back.
func TestFrames(t *testing.T) {
	p, _ := opened(t, "")
	entry, why := p.Entry("main.step")
	if why != nil {
		t.Fatal(why)
	}
	regs := unix.PtraceRegs{
		Rip: entry.Next, Rsp: 0x10000, Rbp: 0x10100, Rax: 1, Rbx: 2, Rcx: 3, Rdx: 4, Rsi: 5, Rdi: 6,
		R8: 7, R9: 8, R10: 9, R11: 10, R12: 11, R13: 12, R14: 13, R15: 14,
	}
	w := Wait{PID: p.PID, Hold: 77, Place: entry.Address, Since: time.Second, Until: 90*time.Second + 5}
	b, to := p.frames(&w, &regs)
	at := func(a uint64) uint64 { return word(b, a-to.Rsp) }
	var names []string
	pc, sp, bp := to.Rip, to.Rsp, to.Rbp
	for range 3 {
		f, ok := p.function(pc)
		if !ok {
			t.Fatalf("there is no function at %#x", pc)
		}
		names = append(names, f.Name)
		d, ok := f.Delta(pc)
		if !ok {
			t.Fatalf("%s has no frame at %#x", f.Name, pc)
		}
		if bp != sp+uint64(d)-8 {
			t.Errorf("in %s the frame pointer is %#x, and the frame ends at %#x", f.Name, bp, sp+uint64(d))
		}
		pc, bp, sp = at(sp+uint64(d)), at(bp), sp+uint64(d)+8
	}
	if strings.Join(names, " ") != "syscall.Syscall6 debugCall128 runtime.debugCallV2" || pc != regs.Rip || sp != regs.Rsp || bp != regs.Rbp {
		t.Errorf("the frames of %q lead to %#x, with the stack pointer %#x and the frame pointer %#x", names, pc, sp, bp)
	}
	base := regs.Rsp - 8 - p.path.registers.delta
	for reg, v := range values(&regs) {
		if got := at(base + uint64(p.path.slots[reg])); got != v {
			t.Errorf("%v comes back as %d, not %d", reg, got, v)
		}
	}
	var back Wait
	if !back.decode(b[w.at-to.Rsp:]) || back.Hold != 77 || back.Until != w.Until || back.Since != w.Since || back.Place != w.Place {
		t.Errorf("the record is %+v", back)
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
	for text, want := range map[string]bool{
		"271 0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": true,
		"271 0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x0 0xc000040e90 0x40a8ee\n":        false,
		"271 0xc000040f00 0x1 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": false,
		"271 0xc000040f00 0x0 0xc000040f10 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": false,
		"219 0xc000040f00 0x0 0xc000040f08 0xc000040f00 0x8 0x70617264 0xc000040e90 0x40a8ee\n": false,
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
	b := make([]byte, recordSize)
	w.encode(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var w Wait
		if !w.decode(b) {
			return
		}
		again := make([]byte, recordSize)
		w.encode(again)
		if !bytes.Equal(again[magicAt:], b[magicAt:recordSize]) {
			t.Errorf("%+v is written as another record", w)
		}
	})
}
