//go:build linux

// Package victim has a program that comes to the same functions again and again. Tests put breakpoints into it.
package victim

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/ptrace"
)

// env makes a test program that calls Play be the victim.
const env = "PODSTEP_VICTIM"

// The functions at which tests put breakpoints, by the names that Delve knows.
var Functions = []string{"victim.step", "victim.flip"}

//go:noinline
func step(n int) int { return flip(n) + 1 }

//go:noinline
func flip(n int) int { return same(n) ^ 1 }

//go:noinline
func same(n int) int { return n }

// Play makes this program the victim, if Start has started it for that: it calls step on several goroutines, and prints
// how often it has for each line that it reads. Then it does not return. TestMain calls it first.
func Play() {
	if os.Getenv(env) == "" {
		return
	}
	counts := make([]int64, 4)
	for i := range counts {
		go func() {
			for n := 0; ; n++ {
				if step(n) != n^1+1 {
					panic("a step has another result")
				}
				counts[i]++
				time.Sleep(20 * time.Microsecond)
			}
		}()
	}
	fmt.Println(uint64(reflect.ValueOf(step).Pointer()))
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		sum := int64(0)
		for i := range counts {
			sum += counts[i]
		}
		fmt.Println(sum)
	}
	os.Exit(0)
}

// Victim is a victim that runs.
type Victim struct {
	// Cmd is the victim's process. Step is the address of its function step.
	Cmd  *exec.Cmd
	Step uint64

	t   testing.TB
	in  io.Writer
	out *bufio.Scanner
}

// Start starts a victim, which the end of the test ends. It skips the test without root. crash gets what the victim
// prints when it crashes.
func Start(t testing.TB, crash io.Writer) *Victim {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("writing another process's code takes root")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), env+"=1")
	cmd.Stderr = crash
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	v := &Victim{Cmd: cmd, t: t, in: in, out: bufio.NewScanner(out)}
	v.Step = v.read()
	return v
}

// PID returns the victim's process.
func (v *Victim) PID() int { return v.Cmd.Process.Pid }

func (v *Victim) read() uint64 {
	v.t.Helper()
	if !v.out.Scan() {
		v.t.Fatalf("the victim has ended: %v", v.Cmd.Wait())
	}
	n, err := strconv.ParseUint(strings.TrimSpace(v.out.Text()), 10, 64)
	if err != nil {
		v.t.Fatal(err)
	}
	return n
}

// Count returns how many steps the victim has made.
func (v *Victim) Count() uint64 {
	v.t.Helper()
	fmt.Fprintln(v.in)
	return v.read()
}

// AwaitSteps returns when the victim has made n steps more.
func (v *Victim) AwaitSteps(n uint64) {
	v.t.Helper()
	for end := v.Count() + n; v.Count() < end; time.Sleep(time.Millisecond) {
	}
}

// Byte returns what is at an address of the victim.
func (v *Victim) Byte(at uint64) byte {
	v.t.Helper()
	var b [1]byte
	if err := park.ReadMemory(v.PID(), at, b[:]); err != nil {
		v.t.Fatal(err)
	}
	return b[0]
}

// AwaitTracer returns when another process than the one before traces all threads of a process: until then nobody
// spreads the net if the process dies.
func AwaitTracer(t testing.TB, pid, before int) {
	t.Helper()
	traced := func() bool {
		threads, err := ptrace.Threads(pid)
		return err == nil && !slices.ContainsFunc(threads, func(tid int) bool {
			tracer := park.TracerOf(pid, tid)
			return tracer == 0 || tracer == before
		})
	}
	for began := time.Now(); !traced(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatalf("nobody traces process %d", pid)
		}
	}
}
