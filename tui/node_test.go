//go:build node

package tui_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tours"
	"github.com/podstep/podstep/tui/tuitest"
)

// These tests run on containerd and runc, with a kubelet that may not stand still as a whole.
const runtime = tours.Containerd

var launch, start = labtest.Launch, labtest.Start

// TestKubeletKilled: the agent dies with its kubelet. The screen says so, in the middle of anything, and goes on
// with the next kubelet, which knows of no hold.
func TestKubeletKilled(t *testing.T) {
	p := openOn(t, start(t, "--restart-kubelet"))
	p.holdAtSandbox("survivor")
	p.Press("b")
	p.Until("Breakpoint")
	p.kubelet(syscall.SIGKILL)
	p.Until("reconnecting")
	p.Press("Escape")
	p.UntilGone("Cancel")
	p.UntilGone("HELD")
	p.Until(" live ")
	p.lab.UntilReady("survivor")
	p.nothingLeft()
	p.lab.Reload()

	// The screen is complete again.
	p.holdAtSandbox("next")
	p.Press("C")
	p.UntilGone("HELD")
	p.lab.UntilReady("next")
	p.Press("q")
	p.Usable()
	p.nothingLeft()
}

// TestKubeletKilledOnWalk: a walk ends when the agent dies that held its pod.
func TestKubeletKilledOnWalk(t *testing.T) {
	l := start(t, "--restart-kubelet")
	p := openOn(t, l, "--tour", "creation")
	p.Until("n begins")
	p.Press("n")
	p.UntilThat("the first stop", func(s string) bool { return strings.Contains(s, "n does it") })
	p.Press("n")
	for !strings.Contains(p.Screen(), "HELD") {
		p.Until("n goes on")
		p.Press("n")
	}
	p.kubelet(syscall.SIGKILL)
	p.Until("the walk has ended")
	p.Until(" live ")
	p.nothingLeft()
	p.Press("q")
	p.Usable()
}

// TestContainerdVerb: one command starts a node and opens the screen on it. However the command ends, the node ends
// as well, and nothing of it is left.
func TestContainerdVerb(t *testing.T) {
	for _, c := range []struct {
		name   string
		end    func(*tuitest.Terminal)
		usable bool
	}{
		{"q", func(term *tuitest.Terminal) { term.Press("q"); term.Until("End the lab?"); term.Press("y") }, true},
		{"the terminal is closed", (*tuitest.Terminal).Hangup, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent, err := os.MkdirTemp("", "verb")
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(parent, "l")
			t.Cleanup(func() {
				if err := labtest.Clean(dir); err != nil {
					t.Error(err)
				}
				os.RemoveAll(parent)
			})
			term := tuitest.Start(t, 120, 36, utf8, labtest.Bin(t, "podstep"), "lab", "--dir", dir, "--runtime", string(runtime))
			term.Until("A first walk?")
			state, err := labstate.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			ended := untilEnd(t, state.Pids["podstep-lab"])
			term.Escape("A first walk?")
			c.end(term)
			ended()
			if c.usable {
				term.Usable()
			}
		})
	}
}

// untilEnd returns a function that waits for the end of a process.
func untilEnd(t *testing.T, pid int) func() {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(labtest.Patience.Milliseconds()))
			if err == unix.EINTR {
				continue
			}
			if err != nil || n == 0 {
				t.Fatalf("process %d does not end: %v", pid, err)
			}
			return
		}
	}
}
