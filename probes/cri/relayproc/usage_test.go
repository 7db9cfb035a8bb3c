package relayproc

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRuns: a process that is stopped, or has ended, does not run.
func TestRuns(t *testing.T) {
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pid := c.Process.Pid
	until := func(what string, want bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); runs(pid) != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: it runs: %v", what, !want)
			}
		}
	}
	until("started", true)
	_ = c.Process.Signal(unix.SIGSTOP)
	until("stopped", false)
	_ = c.Process.Signal(unix.SIGCONT)
	until("continued", true)
	_ = c.Process.Kill()
	until("killed", false)
	_ = c.Wait()
	until("gone", false)
	if !runs(os.Getpid()) {
		t.Error("this process does not run")
	}
}
