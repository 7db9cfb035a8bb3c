//go:build sim

package tui_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tuitest"
)

// TestAgentDies: the screen says that the agent is gone, and goes on when another comes. Pods that were held are not
// held any more.
func TestAgentDies(t *testing.T) {
	l := labtest.StartSim(t, "--restart-kubelet")
	command := []string{labtest.Bin(t, "podstep"), "--socket", l.State.Agent}
	p := &place{t: t, lab: l, agent: dial(t, l.State.Agent), Terminal: tuitest.Start(t, 120, 36, utf8, command...)}
	p.Until(" live ")
	p.noWalk()
	p.holdAtSandbox("survivor")
	before := l.State.Pids["kubelet"]
	if err := unix.Kill(before, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Until("reconnecting")
	p.UntilGone("HELD")
	waitUntil(t, "another agent answers", func(ctx context.Context) bool {
		c, err := client.Dial(ctx, l.State.Agent)
		if err != nil {
			return false
		}
		defer c.Close()
		return c.About().GetPid() != int64(before)
	})
	p.Until(" live ")
	l.UntilReady("survivor")
	p.Until("survivor")
	p.nothingLeft()
	p.Press("q")
	p.Usable()
}

// TestLabKilledAndStartedAgain: a lab that is killed and started again in its directory has none of its former pods.
// The screen does not list them as if it had.
func TestLabKilledAndStartedAgain(t *testing.T) {
	l := labtest.StartSim(t)
	command := []string{labtest.Bin(t, "podstep"), "--socket", l.State.Agent}
	term := tuitest.Start(t, 120, 36, utf8, command...)
	term.Until(" live ")
	term.Escape("A first walk?")
	for _, name := range []string{"ghost-1", "ghost-2", "ghost-3"} {
		l.Create(labtest.BusyboxPod(name, labtest.Sleep))
	}
	for _, name := range []string{"ghost-1", "ghost-2", "ghost-3"} {
		l.UntilReady(name)
	}
	term.Until("3 pods")
	if err := unix.Kill(l.State.Pids["podstep-lab"], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	term.Until("reconnecting")
	waitUntil(t, "the parts of the killed lab have ended", func(context.Context) bool {
		return unix.Kill(l.State.Pids["kubelet"], 0) != nil
	})
	cmd, err := labtest.Command(labstate.Sim, l.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		_ = cmd.Wait()
	})
	waitUntil(t, "the agent of the new lab answers", func(ctx context.Context) bool {
		c, err := client.Dial(ctx, l.State.Agent)
		if err != nil {
			return false
		}
		defer c.Close()
		return c.About().GetPid() != int64(l.State.Pids["kubelet"])
	})
	term.Until(" live ")
	term.UntilThat("no pods", func(s string) bool {
		return strings.Contains(s, " 0 pods") && !regexp.MustCompile(`ghost-\d.*(running|waiting|working)`).MatchString(s)
	})
	term.Press("q")
	term.Usable()
}

// TestLabVerb: one command starts a node, opens the screen on it, offers the
// first walk, and ends both. Nothing of the node is left.
func TestLabVerb(t *testing.T) {
	dir, err := os.MkdirTemp("", "verb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	term := tuitest.Start(t, 120, 36, utf8, labtest.Bin(t, "podstep"), "lab", "--dir", filepath.Join(dir, "l"))
	term.Until("kube-apiserver") // progress
	term.Until("A first walk?")
	state, err := labstate.Read(filepath.Join(dir, "l"))
	if err != nil {
		t.Fatal(err)
	}
	// The first key wakes the dialog, if that came while the person was typing. A look at the screen between two
	// keys may be older than the effect of the first one.
	time.Sleep(time.Second)
	term.Press("Enter")
	term.Until("n begins")
	term.Press("C-c")
	term.Until("End the lab?")
	term.Press("C-c")
	term.Usable()
	if err := unix.Kill(state.Pids["kubelet"], 0); err == nil {
		t.Error("the kubelet still runs")
	}
}

// TestLabVerbKilled: the node ends even if the command is ended by kill -9.
func TestLabVerbKilled(t *testing.T) {
	dir, err := os.MkdirTemp("", "verb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	term := tuitest.Start(t, 120, 36, utf8, labtest.Bin(t, "podstep"), "lab", "--dir", filepath.Join(dir, "l"))
	term.Until(" live ")
	state, err := labstate.Read(filepath.Join(dir, "l"))
	if err != nil {
		t.Fatal(err)
	}
	term.Hangup()
	waitUntil(t, "the node has ended", func(context.Context) bool { return unix.Kill(state.Pids["kubelet"], 0) != nil })
}
