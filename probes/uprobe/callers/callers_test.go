package callers

import (
	"bytes"
	"debug/elf"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/pclntab"
)

const pkg = "github.com/podstep/podstep/probes/uprobe/callers."

// own returns a table with the lines of outer, a function of this test's program.
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
	functions, _, err := pclntab.Open(file, data)
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{}
	for f := range functions.All() {
		if probes.Outer(f.Name) == pkg+"outer" {
			table.Add(pkg+"outer", f)
		}
	}
	return table
}

// returns are the addresses to which step, and the functions around it, return.
type returns []uint64

//go:noinline
func step() (out returns) {
	var pcs [8]uintptr
	for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
		out = append(out, uint64(pc))
	}
	return out
}

// between is a function that is no step. The compiler inlines it into its callers.
func between() returns { return step() }

//go:noinline
func further(n int) returns {
	if n > 0 {
		return further(n - 1)
	}
	return step()
}

//go:noinline
func run(f func()) { f() }

func here() uint32 {
	_, _, line, _ := runtime.Caller(1)
	return uint32(line)
}

const ways = 8

// outer calls step in several ways, and returns the line of the call that it made.
//
//go:noinline
func outer(how int) (got returns, want uint32) {
	switch how {
	case 0:
		got, want = step(), here()
	case 1:
		got, want = step(), here()
	case 2:
		got, want = between(), here()
	case 3:
		func() {
			got, want = step(), here()
		}()
	case 4:
		run(func() {
			got, want = step(), here()
		})
	case 5:
		run(func() {
			run(func() {
				got, want = between(), here()
			})
		})
	case 6:
		got, want = further(3), here()
	case 7:
		got = further(100)
	}
	return got, want
}

// TestLine: where a function makes a call in several places, the line is that of the call under way, also through
// other functions and in literals. Where the line is not known, it is 0.
func TestLine(t *testing.T) {
	table := own(t)
	for how := range ways {
		t.Run(strconv.Itoa(how), func(t *testing.T) {
			at, want := outer(how)
			if got := table.Line(at, pkg+"outer"); got != want {
				t.Errorf("line %d, want %d", got, want)
			}
			if got := table.Line(at, pkg+"further"); got != 0 {
				t.Errorf("line %d of a function that is not known", got)
			}
		})
	}
	if got := table.Line(step(), pkg+"outer"); got != 0 {
		t.Errorf("line %d of a function that is not under way", got)
	}
	if got := (&Table{}).Line(step(), pkg+"outer"); got != 0 {
		t.Errorf("line %d of nothing", got)
	}
}

// TestBounds: instructions at the ends of a function's code are in it, and those next to it are not.
func TestBounds(t *testing.T) {
	table := &Table{functions: []function{
		{begin: 100, end: 200, symbol: "a", lines: []stretch{{10, 1}, {20, 0}, {90, 2}}},
		{begin: 200, end: 300, symbol: "b", lines: []stretch{{100, 3}}},
		{begin: 400, end: 500, symbol: "a", lines: nil},
	}}
	for _, c := range []struct {
		returns []uint64
		symbol  string
		want    uint32
	}{
		{[]uint64{100}, "a", 0}, {[]uint64{101}, "a", 1}, {[]uint64{110}, "a", 1}, {[]uint64{111}, "a", 0}, {[]uint64{121}, "a", 2},
		{[]uint64{190}, "a", 2}, {[]uint64{191}, "a", 0}, {[]uint64{200}, "a", 0}, {[]uint64{201}, "a", 0}, {[]uint64{201}, "b", 3},
		{[]uint64{300}, "b", 3}, {[]uint64{301}, "b", 0}, {[]uint64{450}, "a", 0}, {[]uint64{0}, "a", 0}, {[]uint64{1<<64 - 1}, "a", 0},
		{[]uint64{301, 201, 105}, "a", 1}, {[]uint64{0, 0, 250}, "b", 3}, {nil, "a", 0},
	} {
		if got := table.Line(c.returns, c.symbol); got != c.want {
			t.Errorf("back to %v it is line %d of %s, want %d", c.returns, got, c.symbol, c.want)
		}
	}
}

var fuzzed = sync.OnceValue(func() (all []uint32) {
	for how := range ways {
		_, line := outer(how)
		all = append(all, line)
	}
	return all
})

// FuzzLine: whatever addresses are read from a stack, a line is one of the function's.
func FuzzLine(f *testing.F) {
	table := own(f)
	first, last := slices.Min(fuzzed()[:ways-1])-10, slices.Max(fuzzed())+10
	for how := range ways {
		at, _ := outer(how)
		f.Add(at[0], at[1])
	}
	f.Fuzz(func(t *testing.T, inner, around uint64) {
		for _, from := range table.functions { // and addresses near code
			at := []uint64{inner, around, from.begin + inner%(from.end-from.begin+16)}
			if line := table.Line(at, pkg+"outer"); line != 0 && (line < first || line > last) {
				t.Errorf("from %#x it is line %d, which is none from %d to %d", at, line, first, last)
			}
		}
	})
}

// TestAllocates: finding a line allocates no memory.
func TestAllocates(t *testing.T) {
	table := own(t)
	at, _ := outer(6)
	if n := testing.AllocsPerRun(100, func() { table.Line(at, pkg+"outer") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkLine measures how long it takes to find a line.
func BenchmarkLine(b *testing.B) {
	table := own(b)
	at, _ := outer(6)
	for b.Loop() {
		table.Line(at, pkg+"outer")
	}
}
