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

// LetGoOrphans lets go all parked goroutines of a process whose threads nobody traces: the process that parked them
// has ended. Otherwise they would wait until their leases end. It returns how many it let go.
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

// TracerOf returns the process that traces a thread; 0: none, or one out of sight.
func TracerOf(pid, tid int) int {
	thread := StatusOf(fmt.Sprintf("/proc/%d/task/%d", pid, tid), "TracerPid")
	n, _ := strconv.Atoi(StatusOf("/proc/"+thread, "Tgid"))
	return n
}

// StatusOf returns one line of the status of a process or thread, without the line's name; empty: there is none. dir
// is its directory in /proc.
func StatusOf(dir, line string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "status"))
	for l := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(l, line+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Pending reports whether a signal is pending by a line of the status of a process or thread: SigPnd for the thread,
// ShdPnd for the process as a whole.
func Pending(dir, line string, signal unix.Signal) bool {
	mask, err := strconv.ParseUint(StatusOf(dir, line), 16, 64)
	return err == nil && mask&(1<<(signal-1)) != 0
}
