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
	// This is short enough to measure tenths of a second.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	patience := time.After(Patience)
	for !is() {
		select {
		case <-tick.C:
		case <-patience:
			tb.Fatalf("not %s", what)
		}
	}
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
