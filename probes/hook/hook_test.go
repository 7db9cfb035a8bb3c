package hook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"unsafe"
)

// recorder is a Handler that writes down its calls.
type recorder struct {
	entered []*Span // cur of each Enter
	left    []Outcome
	values  []any
	fail    error
}

func (r *recorder) Enter(_ int, cur *Span, values Values) (*Span, error) {
	r.entered = append(r.entered, cur)
	r.values = append(r.values, All(values)...)
	return NewSpan(Labels("ns/pod"), nil), r.fail
}

func (r *recorder) Leave(_ *Span, how Outcome, err error, values Values) {
	r.left = append(r.left, how)
	r.values = append(append(r.values, All(values)...), err)
}

func use(t testing.TB, h Handler) {
	t.Helper()
	Set(h)
	t.Cleanup(func() { Set(nil) })
}

// woven has the shape that the weaver gives to a function.
func woven(in int, body func()) (out int, err error) {
	if p, e := Enter(1, func(to To) { Put(to, in) }); p != nil || e != nil {
		defer Leave(p, func() error { return err }, func(to To) { Put(to, out) })
		if e != nil {
			err = e
			return
		}
	}
	body()
	return in + 1, nil
}

func TestEnterLeave(t *testing.T) {
	r := &recorder{}
	use(t, r)
	if out, err := woven(1, func() {
		if Current() == nil {
			t.Error("no span inside a woven function")
		}
	}); out != 2 || err != nil {
		t.Fatalf("woven = %d, %v", out, err)
	}
	if Current() != nil {
		t.Error("a span is left after the function returned")
	}
	if len(r.left) != 1 || r.left[0] != Returned {
		t.Errorf("left %v, want one return", r.left)
	}
	if len(r.values) != 3 || r.values[0] != 1 || r.values[1] != 2 || r.values[2] != nil {
		t.Errorf("values %v, want in, out, err", r.values)
	}
}

func TestFault(t *testing.T) {
	r := &recorder{fail: errors.New("injected")}
	use(t, r)
	if _, err := woven(1, func() { t.Error("the body ran") }); err != r.fail {
		t.Fatalf("err = %v, want the injected one", err)
	}
}

// TestPanicPassesThrough: a panic is seen, reaches the caller with the same
// value, and is not marked as recovered and raised anew.
func TestPanicPassesThrough(t *testing.T) {
	r := &recorder{}
	use(t, r)
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v, want boom", v)
			}
		}()
		_, _ = woven(1, func() { panic("boom") })
	}()
	if len(r.left) != 1 || r.left[0] != Panicked {
		t.Errorf("left %v, want one panic", r.left)
	}
	if Current() != nil {
		t.Error("a span is left after the panic")
	}
}

func TestGoexit(t *testing.T) {
	r := &recorder{}
	use(t, r)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = woven(1, runtime.Goexit)
	}()
	<-done
	if len(r.left) != 1 || r.left[0] != Exited {
		t.Errorf("left %v, want one exit of the goroutine", r.left)
	}
}

// TestInherit: a goroutine that a woven function starts knows the span it was
// started from; its own spans do not reach back.
func TestInherit(t *testing.T) {
	r := &recorder{}
	use(t, r)
	_, _ = woven(1, func() {
		outer := Current()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = woven(2, func() {})
			if Current() != outer {
				t.Error("the child goroutine lost the span it was started from")
			}
		}()
		<-done
		if Current() != outer {
			t.Error("the child goroutine changed its parent's span")
		}
	})
	if r.entered[0] != nil || r.entered[1] == nil {
		t.Errorf("spans at entry: %v", r.entered)
	}
}

type thrower struct{ at string }

func (h thrower) Enter(int, *Span, Values) (*Span, error) {
	if h.at == "enter" {
		panic("ours")
	}
	return NewSpan(Labels(""), nil), nil
}

func (h thrower) Leave(*Span, Outcome, error, Values) { panic("ours") }

func TestHandlerPanicIsCaught(t *testing.T) {
	for _, at := range []string{"enter", "leave"} {
		use(t, thrower{at})
		before := Faults()
		if out, err := woven(1, func() {}); out != 2 || err != nil {
			t.Errorf("panic in %s: woven = %d, %v", at, out, err)
		}
		if Faults() != before+1 {
			t.Errorf("panic in %s was not counted", at)
		}
		if Current() != nil {
			t.Errorf("panic in %s left a span", at)
		}
	}
}

// TestEvalCatches: a nil pointer costs the values from there on, not those
// before.
func TestEvalCatches(t *testing.T) {
	var nothing *struct{ field int }
	before := Faults()
	v := All(func(to To) {
		Put(to, 1)
		Put(to, nothing.field)
		Put(to, 2)
	})
	if len(v) != 1 || v[0] != 1 || Faults() != before+1 {
		t.Errorf("All = %v with %d faults, want [1] with one", v, Faults()-before)
	}
}

// TestForeignLabels: labels that the program sets itself are not taken for a
// span, even under our name, and come back after a woven call.
func TestForeignLabels(t *testing.T) {
	r := &recorder{}
	use(t, r)
	pprof.Do(context.Background(), pprof.Labels(strings.Clone("podstep"), "x"), func(context.Context) {
		before := getLabels()
		if Current() != nil {
			t.Error("foreign labels were taken for a span")
		}
		_, _ = woven(1, func() {})
		if getLabels() != before {
			t.Error("foreign labels were not put back")
		}
	})
}

// TestProfileReadsLabels holds the layout of Span against the runtime: a
// goroutine profile must be able to read our labels.
func TestProfileReadsLabels(t *testing.T) {
	use(t, &recorder{})
	var out bytes.Buffer
	_, _ = woven(1, func() {
		if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
			t.Error(err)
		}
	})
	if !strings.Contains(out.String(), `"podstep":"ns/pod"`) {
		t.Errorf("no label of ours in the goroutine profile:\n%s", out.String())
	}
	if unsafe.Offsetof(Span{}.labels) != 0 {
		t.Error("labels is not the first field of Span")
	}
}

// values keeps the values that it takes, as a Taker may.
type values struct {
	quiet bool
	all   []any
}

func (v *values) Quiet(quiet bool) bool {
	v.quiet = quiet
	return quiet
}

func (v *values) Take(x any) { v.all = append(v.all, Keep(x)) }

func (v *values) BackOff(BackOff) {}

// TestKeep: a kept value stays the same when its box is gone. There are values of every shape.
func TestKeep(t *testing.T) {
	type pair struct{ a, b int }
	p := &pair{1, 2}
	v := &values{}
	func() {
		text, number, both := strings.Repeat("ab", 20), 7, pair{3, 4}
		Eval(func(to To) {
			Put(to, text)
			Put(to, number)
			Put(to, both)
			Put(to, p)
			Put(to, []int{5, 6})
			Put[any](to, nil)
			Put(to, map[string]int{"x": 1})
			Put[error](to, errors.New("boom"))
		}, v)
	}()
	overwriteStack(50)
	got := fmt.Sprintln(v.all[0], v.all[1], v.all[2], v.all[3] == any(p), v.all[4], v.all[5], v.all[6], v.all[7])
	if want := fmt.Sprintln(strings.Repeat("ab", 20), 7, pair{3, 4}, true, []int{5, 6}, nil, map[string]int{"x": 1}, "boom"); got != want {
		t.Errorf("kept are\n%s, want\n%s", got, want)
	}
}

//go:noinline
func overwriteStack(depth int) byte {
	var room [512]byte
	for i := range room {
		room[i] = 0xff
	}
	if depth > 0 {
		return overwriteStack(depth-1) & room[depth]
	}
	return room[0]
}

// TestQuietEnds: nothing else of a quiet call is evaluated.
func TestQuietEnds(t *testing.T) {
	for _, quiet := range []bool{true, false} {
		v := &values{}
		Eval(func(to To) {
			if Quiet(to, quiet) {
				return
			}
			Put(to, "more")
		}, v)
		if v.quiet != quiet || (len(v.all) == 0) != quiet {
			t.Errorf("of a call that is quiet: %v there are values %v", quiet, v.all)
		}
	}
}

// TestTakerStaysOnStack: neither the taker nor the values go to the heap.
func TestTakerStaysOnStack(t *testing.T) {
	text := strings.Repeat("ab", 20)
	n := 0
	if allocs := testing.AllocsPerRun(100, func() {
		c := count{of: &n}
		Eval(func(to To) { Put(to, text); Put(to, 1000+n); Put(to, struct{ a, b int }{n, n}) }, &c)
	}); allocs != 0 || n == 0 {
		t.Errorf("%v allocations for %d values, want none", allocs, n)
	}
}

type count struct{ of *int }

func (c *count) Quiet(bool) bool { return false }
func (c *count) Take(any)        { *c.of++ }
func (c *count) BackOff(BackOff) {}
