//go:build linux && (amd64 || arm64)

package park

import (
	"testing"
	"time"
)

// TestFramesOnARM64: on arm64, too, the runtime can walk the frames of a wait to where the goroutine was, and the registers come back.
func TestFramesOnARM64(t *testing.T) {
	p := lookedAt(t, "arm64", "")
	entry, why := p.Entry("main.step")
	if why != nil {
		t.Fatal(why)
	}
	regs := a64Registers{Pc: entry.Next, Sp: 0x10000}
	for n := range regs.Regs {
		regs.Regs[n] = uint64(n) + 100
	}
	w := Wait{PID: p.PID, Hold: 77, Place: entry.Address, Since: time.Second, Until: 90*time.Second + 5}
	to := regs
	b, low := p.a64Call(&w, &to)
	if top := low + uint64(len(b)); top != regs.Sp-8 || to.Sp != low+8 {
		t.Errorf("the frames are from %#x to %#x, with the stack pointer %#x", low, top, to.Sp)
	}
	at := func(a uint64) uint64 { return word(b, a-low) }
	pc, sp, pointer := to.Pc, to.Sp, to.Regs[fp]
	for _, name := range []string{"syscall.Syscall6", "syscall.RawSyscall6", DebugCall} {
		f, ok := p.function(pc)
		d, known := f.Delta(pc - p.bias)
		if !ok || !known || f.Name != name || pointer != sp-8 {
			t.Fatalf("%#x is in %v, not %s, and the frame pointer is %#x at %#x", pc, f.Name, name, pointer, sp)
		}
		pc, pointer, sp = at(sp), at(sp-8), sp+uint64(d)
	}
	base := sp - a64DebugFrame
	if link := at(sp); pc != regs.Pc || sp+a64LinkRoom != regs.Sp || pointer != regs.Regs[fp] || link != regs.Regs[lr] {
		t.Errorf("the frames lead to %#x, with the stack pointer %#x, the frame pointer %d and LR %d", pc, sp, pointer, link)
	}
	for reg, v := range regs.values() {
		if got := at(base + uint64(p.path.slots[reg])); got != v {
			t.Errorf("R%d comes back as %d, not %d", reg, got, v)
		}
	}
	var back Wait
	if !back.decode(&a64Layout, b[w.at-low:]) || back.Hold != 77 || back.Until != w.Until || back.Since != w.Since || back.Place != w.Place {
		t.Errorf("the record is %+v", back)
	}
}
