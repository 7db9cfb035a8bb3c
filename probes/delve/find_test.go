//go:build linux && amd64

package delve

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/inside/toy"
	"github.com/podstep/podstep/probes/pclntab"
)

// TestFind: functions and lines of a stripped program are found as Delve names them. A name that nothing has, or that
// several have, gets a clear answer.
func TestFind(t *testing.T) {
	y := toy.Start(t, toy.Build(t, ""), toy.Options{Workers: 1, Pace: time.Millisecond})
	program, err := park.Open(y.PID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(program.Close)
	step, err := findPlaces(program, "main.step")
	if err != nil || len(step) != 1 || step[0].Function != "main.step" {
		t.Fatalf("main.step is %+v, %v", step, err)
	}
	again, err := findPlaces(program, "main.step:0")
	if err != nil || again[0] != step[0] {
		t.Errorf("main.step:0 is %+v, %v", again, err)
	}
	lines := 0
	for offset := 1; offset < 12; offset++ {
		in, err := findInFunction(program, functionOf(t, program, "main.step"), step[0].Line+offset)
		if err != nil {
			if !strings.Contains(err.Error(), "the nearest lines are") {
				t.Errorf("line %d: %v", offset, err)
			}
			continue
		}
		lines++
		of, err := findLine(program, "main.go", step[0].Line+offset)
		if err != nil || len(of) < len(in) {
			t.Errorf("line %d is %v in the function, and %v, %v in the file", offset, in, of, err)
		}
	}
	if lines == 0 {
		t.Error("no line of main.step is found")
	}
	for at, want := range map[string]string{
		"main.no": "no function main.no", "no.go:3": "no code of a file no.go", "main.go:1": "the nearest lines are",
		"+3": "write FUNCTION", "": "empty", "newproc": "runtime.newproc", "step": "2 functions: runtime.step, main.step",
	} {
		if found, err := findPlaces(program, at); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %+v, %v", at, found, err)
		}
	}
}

func functionOf(t *testing.T, program *park.Program, name string) *pclntab.Func {
	t.Helper()
	for f := range program.All() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// TestNesting: a goroutine is inside a pod's step from the step's begin to its end, also while it is in steps of no
// pod.
func TestNesting(t *testing.T) {
	const uid = "4b0f7c0e-3f9c-4a52-8f1d-000000000001"
	n := nesting{}
	at := func(depth uint64, exit bool, text string) bool {
		r := reading.Record{Goid: 7, Depth: depth}
		if text != "" {
			r.Have[0], r.Value[0] = 2, uint64(len(text))
			copy(r.Text[:], text)
		}
		n.update(&r, exit)
		return n.inPod(7)
	}
	for i, c := range []struct {
		depth uint64
		exit  bool
		uid   string
		want  bool
	}{
		{100, false, "", false}, {200, false, uid, true}, {300, false, "", true}, {300, true, "", true},
		{200, true, "", false}, {150, false, uid, true}, {150, false, "", false}, {100, true, "", false},
	} {
		if got := at(c.depth, c.exit, c.uid); got != c.want {
			t.Errorf("after %d it is in a pod's step: %v", i, got)
		}
	}
	if len(n) != 0 {
		t.Errorf("at the end it is inside of %v", n)
	}
}

// TestAllowsLine: a goroutine is held at lines only where it is known that nobody waits for it.
func TestAllowsLine(t *testing.T) {
	p := &process{options: Options{Lines: LineRule{
		Within: []string{"k/kubelet.loop"}, Locking: []string{"k/kubelet.(*w).lock"}, Packages: map[string]bool{"k/kubelet": true},
	}}}
	for functions, want := range map[string]string{
		"k/kubelet.f k/kubelet.loop":                     "",
		"k/kubelet.f[k/x.T] k/kubelet.loop k/other.g":    "",
		"k/kubelet.f k/kubelet.(*w).lock k/kubelet.loop": "takes a lock",
		"k/kubelet.(*w).lock.func1 k/kubelet.loop":       "takes a lock",
		"k/kubelet.f k/other.g k/kubelet.loop":           "not known whether k/other.g",
		"k/kubelet.f k/kubelet.g":                        "not on the pod's own goroutine",
	} {
		err := p.allowsLine(strings.Fields(functions))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", functions, err, want)
		}
	}
}
