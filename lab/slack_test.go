package lab

import (
	"bytes"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestStartSlack: a part of the control plane has timers that may be late, and nothing that the same thread starts after it.
func TestStartSlack(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := slackOf(t, (*exec.Cmd).Start)
	if got := slackOf(t, startSlack); got != int(timerSlack) {
		t.Errorf("timers may be late by %d ns, not %d", got, timerSlack)
	}
	if after := slackOf(t, (*exec.Cmd).Start); after != before {
		t.Errorf("timers of what is started next may be late by %d ns, not %d as before", after, before)
	}
}

// slackOf returns the timer slack, in ns, of a program that is started in that way.
func slackOf(t *testing.T, start func(*exec.Cmd) error) int {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command("cat", "/proc/self/timerslack_ns")
	cmd.Stdout = &out
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	slack, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	return slack
}
