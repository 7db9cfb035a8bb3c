package relayproc

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestUsage: only time counts in which the kubelet could make calls and makes none.
func TestUsage(t *testing.T) {
	var u usage
	now := time.Now()
	look := func(after time.Duration, answered uint64, may bool) time.Duration {
		now = now.Add(after)
		return u.update(now, answered, may)
	}
	const s = time.Second
	for i, x := range []struct {
		after    time.Duration
		answered uint64
		may      bool
		want     time.Duration
	}{
		{0, 5, true, 0},
		{s / 2, 5, true, s / 2},
		{s / 2, 5, true, s},
		{s / 2, 5, false, s},            // it is stopped, or waits for a call
		{s / 2, 5, true, 3 * s / 2},     // it goes on
		{time.Hour, 5, true, 5 * s / 2}, // this process was stopped
		{s / 2, 6, true, 0},             // a call came through
		{s / 2, 6, true, s / 2},
	} {
		if got := look(x.after, x.answered, x.may); got != x.want {
			t.Errorf("at look %d it is idle for %v, want %v", i, got, x.want)
		}
	}
}

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
