// Package toy builds and runs a small Go program in which goroutines can be parked, for
// tests: by any of the versions of Go that kubelets are built with, stripped.
package toy

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

//go:embed program.go.txt
var program string

// assembly jumps to functions of package syscall, as that of golang.org/x/sys/unix in a kubelet does. So the linker has
// wrappers of theirs for callers in assembly, with the same names.
const assembly = `TEXT ·raw(SB),4,$0-80
	JMP syscall·RawSyscall6(SB)

TEXT ·whole(SB),4,$0-80
	JMP syscall·Syscall6(SB)
`

// Versions are the other releases of Go that kubelets are built with, the last release of each minor version. The Go
// at hand is not among them.
var Versions = []string{"go1.22.12", "go1.23.12", "go1.24.13", "go1.25.6"}

// Build builds the program with a version of Go and flags of go build. An empty version is the Go at hand.
func Build(t testing.TB, version string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module toy\n\ngo 1.22\n", "main.go": program, "calls.s": assembly} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if version == "" {
		version = "local"
	}
	out := filepath.Join(dir, "toy")
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", out}, append(flags, ".")...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GOTOOLCHAIN="+version)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build with %s: %v\n%s", version, err, text)
	}
	return out
}

// Options state how the program runs.
type Options struct {
	// Workers are goroutines that call main.step with their number as the first argument, with a pause of Pace in
	// between. Garbage is how many others keep the garbage collector at work. With Grow each call is made on a new
	// goroutine, at another depth.
	Workers, Garbage int
	Pace             time.Duration
	Grow             bool
	Env              []string
}

// Toy is the program, running.
type Toy struct {
	PID     int
	Workers int

	t    testing.TB
	cmd  *exec.Cmd
	in   io.Writer
	out  *bufio.Reader
	logs strings.Builder
}

// Start starts the program. The test ends it.
func Start(t testing.TB, file string, o Options) *Toy {
	t.Helper()
	args := []string{strconv.Itoa(o.Workers), strconv.Itoa(o.Garbage), o.Pace.String()}
	if o.Grow {
		args = append(args, "grow")
	}
	y := &Toy{t: t, cmd: exec.Command(file, args...), Workers: o.Workers}
	y.cmd.Env, y.cmd.Stderr = append(os.Environ(), o.Env...), &y.logs
	in, err := y.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := y.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := y.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(y.Kill)
	y.PID, y.in, y.out = y.cmd.Process.Pid, in, bufio.NewReader(out)
	y.waitReady()
	return y
}

// Counts are what the program has counted: the calls of each worker that came back, how many calls of all workers had
// wrong arguments or results, and more.
type Counts struct {
	Calls      []int64
	Wrong      int64
	GCs        uint32
	Goroutines int
	Grown      int64
}

// Counts asks the program for its Counts. The test fails if the program does not run, or has counted something wrong.
func (y *Toy) Counts() Counts { return y.ask("") }

// NewThread makes the program start a thread and end it.
func (y *Toy) NewThread() Counts { return y.ask("thread") }

// Exec makes the program begin anew in the same process.
func (y *Toy) Exec() {
	y.t.Helper()
	if _, err := fmt.Fprintln(y.in, "exec"); err != nil {
		y.t.Fatal(err)
	}
	y.waitReady()
}

func (y *Toy) waitReady() {
	y.t.Helper()
	if line, err := y.out.ReadString('\n'); err != nil || line != "ready\n" {
		y.t.Fatalf("the program printed %q: %v\n%s", line, err, y.ending())
	}
}

func (y *Toy) ask(line string) (c Counts) {
	y.t.Helper()
	if _, err := fmt.Fprintln(y.in, line); err != nil {
		y.t.Fatalf("the program has ended: %v\n%s", err, y.ending())
	}
	answer, err := y.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(answer, &c)
	}
	if err != nil {
		y.t.Fatalf("the program does not answer: %v\n%s", err, y.ending())
	}
	if c.Wrong > 0 {
		y.t.Fatalf("%d calls of the program had wrong arguments or results\n%.2000s", c.Wrong, y.logs.String())
	}
	return c
}

// Moved waits until each of these workers has come back from the step more often than in before, and returns the
// Counts then. In the end it fails, and names a worker that has not.
func (y *Toy) Moved(before Counts, workers ...int) Counts {
	y.t.Helper()
	for began := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		now := y.Counts()
		var stand []int
		for _, w := range workers {
			if now.Calls[w] <= before.Calls[w] {
				stand = append(stand, w)
			}
		}
		if len(stand) == 0 {
			return now
		}
		if time.Since(began) > time.Minute {
			y.t.Fatalf("workers %v do not go on", stand)
		}
	}
}

// All returns the numbers of all workers but some.
func (y *Toy) All(but ...int) (out []int) {
next:
	for w := range y.Workers {
		for _, b := range but {
			if w == b {
				continue next
			}
		}
		out = append(out, w)
	}
	return out
}

// ending describes the end of a program that has ended.
func (y *Toy) ending() string {
	_ = y.cmd.Wait()
	return fmt.Sprintf("%v\n%.4000s", y.cmd.ProcessState, y.logs.String())
}

// Trace ends the program, and returns the stack traces that it prints.
func (y *Toy) Trace() string {
	_ = y.cmd.Process.Signal(syscall.SIGQUIT)
	return y.ending()
}

// Kill ends the program.
func (y *Toy) Kill() {
	_ = y.cmd.Process.Kill()
	_ = y.cmd.Wait()
}
