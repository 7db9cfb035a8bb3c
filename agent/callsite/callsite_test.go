package callsite_test

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/podstep/podstep/agent/callsite"
)

const pkg = "github.com/podstep/podstep/agent/callsite_test."

// step stands for a woven function: it asks for the line of its calls in outer.
func step() uint32 { return callsite.Line(pkg + "outer") }

// between is a function without a step; the compiler puts it into its callers.
func between() uint32 { return step() }

func here() uint32 {
	_, _, line, _ := runtime.Caller(1)
	return uint32(line)
}

// outer calls step from several places, and returns the line that step found and the line of the call.
func outer(how int) (got, want uint32) {
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
		got, want = deep(8), here()
	case 5:
		done := make(chan bool)
		go func() { got, want = step(), here(); done <- true }()
		<-done
	case 6:
		got = deep(100)
	default: // 7 to 11 frames between
		got, want = deep(how), here()
	}
	return got, want
}

//go:noinline
func deep(n int) uint32 {
	if n > 0 {
		return deep(n - 1)
	}
	return step()
}

// TestLine: if a function calls another in several places, Line finds the call that is being made, in a closure too. It
// finds none beyond the frames that it looks through.
func TestLine(t *testing.T) {
	for range 2 { // read, then remembered
		for how := range 12 {
			t.Run(strconv.Itoa(how), func(t *testing.T) {
				got, want := outer(how)
				if got != want {
					t.Errorf("line %d, want %d", got, want)
				}
			})
		}
	}
	if got := step(); got != 0 {
		t.Errorf("line %d of a function that is not on the stack", got)
	}
}

// TestAllocates: finding the line of a known call costs no memory.
func TestAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { bench() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkLine measures finding the line of a call, through one function, below many others as in a kubelet.
func BenchmarkLine(b *testing.B) {
	within(30, func() {
		for range b.N {
			bench()
		}
	})
}

//go:noinline
func within(n int, f func()) {
	if n > 0 {
		within(n-1, f)
		return
	}
	f()
}

//go:noinline
func bench() uint32 { return outerBench() }

//go:noinline
func outerBench() uint32 { return callsite.Line(pkg + "bench") }
