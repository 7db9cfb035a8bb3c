//go:build linux && (amd64 || arm64)

package park

import (
	"slices"
	"testing"
)

// TestLines: where a line begins a debugger's breakpoint can stand, and a goroutine that is parked there loses
// nothing.
func TestLines(t *testing.T) { onEach(t, testLines) }

func testLines(t *testing.T, p *Program) {
	places, all := 0, map[int]bool{}
	for f := range p.All() {
		lines, err := p.Lines(f)
		if err != nil || isRuntime(f.Name) {
			if len(lines) > 0 {
				t.Errorf("%s has %d places", f.Name, len(lines))
			}
			continue
		}
		for _, l := range lines {
			places++
			i, err := p.isa.decode(l.Address)
			if err != nil || !p.isa.breakable(&i) || l.Next != l.Address || l.Address < l.Begin || l.Address >= l.End {
				t.Fatalf("%s:%d is at %v (%v), %+v", f.Name, l.Number, i.text, err, l)
			}
			if d, ok := f.Delta(l.Address); !ok || d != f.MaxDelta() || !f.Safe(l.Address) || i.readsFlags {
				t.Fatalf("%s:%d is at %v, where the frame has %d bytes", f.Name, l.Number, i.text, d)
			}
			if f.Name == "main.podWorkerLoop" && !l.Inlined {
				all[l.Number] = true
			}
		}
	}
	if places < 1000 || len(all) < 4 {
		t.Errorf("there are %d places, in main.podWorkerLoop at the lines %v", places, all)
	}
}

// TestFloats: no goroutine is parked while a number is in a vector register.
func TestFloats(t *testing.T) { onEach(t, testFloats) }

func testFloats(t *testing.T, p *Program) {
	f, ok := p.table.ByName("main.floats")
	if !ok {
		t.Fatal("there is no main.floats")
	}
	code, err := p.code(f)
	if err != nil {
		t.Fatal(err)
	}
	life := newLife(p, f, code)
	for _, i := range code {
		if i.reads != 0 && !life.floats(i.PC) {
			t.Errorf("%v at %#x reads a number, and does not need it", i.text, i.PC)
		}
		if i.readsFlags && !life.flags(i.PC) {
			t.Errorf("%v at %#x reads flags, and does not need them", i.text, i.PC)
		}
	}
}

// TestCalls: the calls of a line are found, and so are the places to which they return.
func TestCalls(t *testing.T) { onEach(t, testCalls) }

func testCalls(t *testing.T, p *Program) {
	f, ok := p.table.ByName("main.podWorkerLoop")
	if !ok {
		t.Fatal("there is no main.podWorkerLoop")
	}
	var names []string
	for l := range f.Lines() {
		for _, at := range p.Calls(f, l.Begin) {
			i, err := p.isa.decode(at)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, p.callee(&i))
			if back, ok := p.Back(i.next); ok && (back.Address < i.next || back.Address >= f.End) {
				t.Errorf("behind %v a goroutine is parked at %#x", i.text, back.Address)
			}
		}
	}
	if !slices.Contains(names, "main.managePodLoop") || slices.ContainsFunc(names, func(n string) bool { return n != "" && isRuntime(n) }) {
		t.Errorf("it calls %v", names)
	}
}

// TestEntered: the processor comes to a line at its beginning, and behind each jump that is always taken.
func TestEntered(t *testing.T) {
	var code []inst
	jump, straight, branch, call, ret := inst{jumps: true}, inst{straight: true}, inst{}, inst{calls: true}, inst{returns: true}
	for pc, i := range []inst{jump, straight, branch, call, jump, straight, ret} {
		i.PC = uint64(pc)
		code = append(code, i)
	}
	var begins []uint64
	for _, part := range entered(code) {
		if len(part) > 0 {
			begins = append(begins, part[0].PC)
		}
	}
	if want := []uint64{0, 1, 5}; !slices.Equal(begins, want) {
		t.Errorf("it begins at %v, want %v", begins, want)
	}
	if len(entered(nil)) != 1 {
		t.Error("code of no instruction is not one part")
	}
}
