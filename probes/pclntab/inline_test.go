package pclntab

import (
	"bytes"
	"debug/elf"
	"os"
	"regexp"
	"runtime"
	"slices"
	"testing"
)

// own is the program of this test, at the addresses at which it runs.
func own(t testing.TB) *Table {
	t.Helper()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	table, _, err := Open(file, data)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

var typeArguments = regexp.MustCompile(`\[.*\]`)

// innermost returns the frame that Go's own runtime has for an instruction, with the name as it prints it.
func innermost(pc uint64) Frame {
	f, _ := runtime.CallersFrames([]uintptr{uintptr(pc) + 1}).Next()
	return Frame{f.Function, f.Line}
}

// TestStacks: for all code of this program, the innermost function and its line are those that the runtime knows. The
// outermost is the function itself.
func TestStacks(t *testing.T) {
	n, inlined := 0, 0
	for f := range own(t).All() {
		if f.Assembly() { // the runtime leaves some out, and the linker's
			continue
		}
		begin := f.Entry
		for end, frames := range f.Stacks() {
			if begin >= end || end > f.End || len(frames) == 0 || frames[len(frames)-1].Function != f.Name {
				t.Fatalf("%s: from %#x to %#x %v", f.Name, begin, end, frames)
			}
			got := frames[0]
			got.Function = typeArguments.ReplaceAllString(got.Function, "[...]")
			for _, pc := range []uint64{begin, end - 1} {
				if want := innermost(pc); pc+1 < f.End && want.Function != "" && got != want {
					t.Fatalf("at %#x of %s: %v, and by the runtime %v", pc, f.Name, got, want)
				}
			}
			n, begin = n+1, end
			if len(frames) > 1 {
				inlined++
			}
		}
		if _, more := f.value(f.tableAt(lineAt), begin); more && begin < f.End {
			t.Fatalf("%s goes on at %#x, where its stretches end", f.Name, begin)
		}
	}
	t.Logf("%d stretches, %d of them of functions that were put into others", n, inlined)
	if inlined < 1000 {
		t.Errorf("only %d stretches of %d are of functions that were put into others", inlined, n)
	}
}

//go:noinline
func callers(into []uintptr) int { return runtime.Callers(2, into) }

// The compiler puts each of these into the next one.
func calls1(into []uintptr) int { return callers(into) }
func calls2(into []uintptr) int { return calls1(into) }

// TestStackOfCall: the frames of a call that is under way are those that the runtime has.
func TestStackOfCall(t *testing.T) {
	pcs := make([]uintptr, 3)
	func() { callsTwice(pcs) }()
	table := own(t)
	var want, got []Frame
	all := runtime.CallersFrames(pcs)
	for range pcs {
		f, _ := all.Next()
		want = append(want, Frame{f.Function, f.Line})
	}
	f, ok := table.Find(uint64(pcs[0]) - 1)
	if !ok {
		t.Fatal("the call is in no function")
	}
	for end, frames := range f.Stacks() {
		if uint64(pcs[0])-1 < end {
			got = frames
			break
		}
	}
	if len(want) != 3 || !slices.Equal(got, want) {
		t.Errorf("the frames are %v, and by the runtime %v", got, want)
	}
}

//go:noinline
func callsTwice(pcs []uintptr) {
	calls2(make([]uintptr, 1))
	calls2(pcs)
}

// TestStacksLinked: inlined functions are found however the program was linked.
func TestStacksLinked(t *testing.T) {
	for _, c := range linkings(t) {
		t.Run(c.name, func(t *testing.T) {
			file, data := linked(t, c.cgo, c.flags...)
			table, _, err := Open(file, data)
			if err != nil {
				t.Fatal(err)
			}
			wantStacks(t, table)
		})
	}
}

// wantStacks checks that for each function of the runtime it is known what was inlined into it.
func wantStacks(t *testing.T, table *Table) {
	t.Helper()
	inlined := 0
	for f := range table.All() {
		if f.Assembly() {
			continue
		}
		for end, frames := range f.Stacks() {
			if len(frames) == 0 || frames[len(frames)-1].Function != f.Name {
				t.Fatalf("up to %#x %s has the frames %v", end, f.Name, frames)
			}
			if len(frames) > 1 {
				inlined++
			}
		}
	}
	if inlined < 1000 {
		t.Errorf("only %d stretches are of functions that were put into others", inlined)
	}
}

// TestStacksUnknown: without the data outside the table nothing is guessed.
func TestStacksUnknown(t *testing.T) {
	table := own(t)
	table.trees = nil
	for f := range table.All() {
		for end, frames := range f.Stacks() {
			if len(frames) > 1 || len(frames) == 1 && frames[0].Function != f.Name {
				t.Fatalf("up to %#x of %s: %v", end, f.Name, frames)
			}
		}
	}
}
