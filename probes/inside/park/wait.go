//go:build linux

package park

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Signal is the signal by which a probe in the kernel makes a thread stop for a tracer, and by which a wait is ended.
// Neither Go's runtime nor the kubelet does anything when it comes, so without a tracer it has no effect. The
// runtime's own signal, SIGURG, would not do: signals do not queue, so a second one is lost if the runtime has just
// sent one.
const Signal = unix.SIGWINCH

// Now returns the time on the clock of deadlines. The clock stops while the machine sleeps.
func Now() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// Waits finds the goroutines of a process that are parked, whoever has parked them.
func Waits(pid int) ([]Wait, error) {
	threads, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "task"))
	if err != nil {
		return nil, fmt.Errorf("look at the threads of process %d: %w", pid, err)
	}
	var out []Wait
	for _, t := range threads {
		tid, _ := strconv.Atoi(t.Name())
		if w, ok := At(pid, tid); ok {
			out = append(out, w)
		}
	}
	return out, nil
}

// At returns the parked goroutine that a thread waits with, if it waits with one.
func At(pid, tid int) (Wait, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	if err != nil {
		return Wait{}, false
	}
	at, ok := parseSyscall(string(text))
	if !ok {
		return Wait{}, false
	}
	w := Wait{PID: pid, TID: tid, at: at}
	b := make([]byte, here.size)
	if ReadMemory(pid, at, b) != nil || !w.decode(here, b) {
		return Wait{}, false
	}
	return w, true
}

// parseSyscall reads the kernel's report of a thread's system call: its number, six arguments, the stack pointer and
// the program counter. ok is true for a wait that Park made. at is then the address of its record.
func parseSyscall(text string) (at uint64, ok bool) {
	words := strings.Fields(text)
	if len(words) != 9 {
		return 0, false
	}
	if number, err := strconv.ParseUint(words[0], 10, 64); err != nil || number != unix.SYS_PPOLL {
		return 0, false
	}
	var args [6]uint64
	for i := range args {
		v, err := strconv.ParseUint(words[i+1], 0, 64)
		if err != nil {
			return 0, false
		}
		args[i] = v
	}
	return args[0], args == here.arguments(args[0])
}

const (
	// signalSet is the size of a set of signals, in bytes.
	signalSet = 8
	// mark is the sixth argument, which the kernel ignores.
	mark = 0x70617264
)

// arguments returns the arguments of a wait whose record is at an address: ppoll, of no files, with a timeout, and
// with signals blocked meanwhile. A blocked signal that is pending is delivered when the kernel begins the wait once
// more after a stop, and does not end the wait.
func (l *layout) arguments(at uint64) [6]uint64 {
	return [6]uint64{at, 0, at + l.timeout, at + l.blocked, signalSet, mark}
}

// LetGo interrupts a thread that still waits every letGoEvery, at most letGoTries times.
const (
	letGoEvery = 200 * time.Microsecond
	letGoTries = 10000
)

// LetGo lets the goroutine go on now. Any process that may send the program a signal may call it, also while another
// one traces the program.
func (w *Wait) LetGo() error {
	for range letGoTries {
		if err := w.Interrupt(); err != nil {
			return err
		}
		time.Sleep(letGoEvery)
		if w.Over() {
			return nil
		}
	}
	return fmt.Errorf("let thread %d of process %d go on: it still waits", w.TID, w.PID)
}

// Over reports whether the thread does not wait with this goroutine: not any more, or not yet.
func (w *Wait) Over() bool {
	now, ok := At(w.PID, w.TID)
	return !ok || now.Hold != w.Hold || now.Since != w.Since
}

// Interrupt sends the signal that ends the wait. It has no effect on a thread that waits no
// more.
func (w *Wait) Interrupt() error {
	err := unix.Tgkill(w.PID, w.TID, Signal)
	if err != nil && err != unix.ESRCH {
		return fmt.Errorf("interrupt thread %d of process %d: %w", w.TID, w.PID, err)
	}
	return nil
}
