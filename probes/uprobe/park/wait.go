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

// Signal is the one by which a probe in the kernel has a thread stop for a tracer, and by
// which a wait is ended. Go's runtime does nothing when it comes, and neither does the
// kubelet; without a tracer it has no effect. The runtime's own signal, SIGURG, will not
// do: signals do not queue, so that where the runtime has just sent one a second is lost.
const Signal = unix.SIGWINCH

// Now is the time by which deadlines are meant. It does not go on while the machine sleeps.
func Now() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return time.Duration(ts.Nano())
}

// Waits finds the goroutines of a process that are parked, whoever has parked them. It
// takes nothing but the process's number.
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

// At reports the parked goroutine that a thread waits with, if it does.
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
	b := make([]byte, recordSize)
	if ReadMemory(pid, at, b) != nil || !w.decode(b) {
		return Wait{}, false
	}
	return w, true
}

// parseSyscall reads what the kernel reports of a thread's system call: its number, six
// arguments, the stack pointer and the program counter. ok is true for a wait as Park
// makes it, with the record at an address.
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
	return args[0], args == arguments6(args[0])
}

const (
	// signalSet is the size of a set of signals, in bytes.
	signalSet = 8
	// mark is the sixth argument, which the kernel does not look at.
	mark = 0x70617264
)

// arguments6 are the arguments of a wait whose record is at an address: ppoll, of no files,
// with a time that the kernel counts down, and with signals blocked meanwhile. A signal that is
// blocked comes when the kernel begins the wait once more after a stop, and does not end it.
func arguments6(at uint64) [6]uint64 {
	return [6]uint64{at, 0, at + timeoutAt, at + blockedAt, signalSet, mark}
}

// letGoEvery is how often a thread is interrupted that still waits, letGoTries how often
// in all.
const (
	letGoEvery = 200 * time.Microsecond
	letGoTries = 10000
)

// LetGo has the goroutine go on now. It may be called by any process that may send the
// program a signal, also while another one traces it.
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

// Over reports whether the thread does not wait with this goroutine any more, or not yet.
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
