//go:build linux

package park

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LetGoOrphans lets the goroutines of a process go on whose threads nobody traces: who
// parked them has ended, and they would go on when their leases end. It returns how many.
func LetGoOrphans(pid int) (n int, err error) {
	all, err := Waits(pid)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil // the process has ended
	}
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, w := range all {
		if TracerOf(pid, w.TID) != 0 {
			continue
		}
		if err := w.LetGo(); err != nil {
			errs = append(errs, err)
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}

// TracerOf is the process that traces a thread; 0 is none, or one out of sight.
func TracerOf(pid, tid int) int {
	thread := StatusOf(fmt.Sprintf("/proc/%d/task/%d", pid, tid), "TracerPid")
	n, _ := strconv.Atoi(StatusOf("/proc/"+thread, "Tgid"))
	return n
}

// StatusOf is a line of the status of a process or thread, which has a directory in /proc,
// without the line's name; empty: there is none.
func StatusOf(dir, line string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "status"))
	for l := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(l, line+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Pending reports whether a signal is among those still to come that a line of the status of a
// process or thread has: SigPnd for the thread, ShdPnd for the process as a whole.
func Pending(dir, line string, signal unix.Signal) bool {
	mask, err := strconv.ParseUint(StatusOf(dir, line), 16, 64)
	return err == nil && mask&(1<<(signal-1)) != 0
}
