//go:build linux

package park

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/arch/x86/x86asm"
	"golang.org/x/sys/unix"
)

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
	b, low, to := p.frames(&w, &regs)
	at := func(a uint64) uint64 { return word(b, a-low) }
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
			t.Errorf("%v comes back as %d, not %d", x86asm.Reg(reg), got, v)
		}
	}
	var back Wait
	if !back.decode(here, b[w.at-low:]) || back.Hold != 77 || back.Until != w.Until || back.Since != w.Since || back.Place != w.Place {
		t.Errorf("the record is %+v", back)
	}
}
