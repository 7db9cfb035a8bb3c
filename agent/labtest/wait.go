package labtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Eventually polls until is returns true, and fails the test after Patience.
func Eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	patience := time.After(Patience)
	first := time.Now()
	for {
		began := time.Now()
		if is() {
			return
		}
		select {
		case <-time.After(pollPause(time.Since(began), began.Sub(first))):
		case <-patience:
			tb.Fatalf("not %s", what)
		}
	}
}

// pollPause returns the pause after a poll, given how long the poll took and how long the test has waited. 20 ms are short enough
// to measure tenths of a second. A poll that reads all processes, or runs a command, takes longer: with a pause of ten times that,
// a test that waits leaves the machine to what it waits for. A test that has waited for ten seconds does not mind half a second
// more, and many such tests kept an API server busy.
func pollPause(took, waited time.Duration) time.Duration {
	return min(max(20*time.Millisecond, 10*took, waited/20), time.Second)
}

// Files counts the open files of a process.
func Files(tb testing.TB, pid int) int {
	tb.Helper()
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		tb.Fatal(err)
	}
	return len(entries)
}

// Stopped reports whether all threads of a process stand still. After a SIGSTOP that takes a moment.
func Stopped(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && !strings.Contains(string(text), "T (stopped)")
	})
}
