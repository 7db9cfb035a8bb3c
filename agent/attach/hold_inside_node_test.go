//go:build node

package attach_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// tracers returns the processes that trace threads of the kubelet.
func tracers(t *testing.T, l *labtest.Lab) (pids []int) {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", l.KubeletPID()))
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread has ended
		}
		_, after, _ := strings.Cut(string(b), "TracerPid:\t")
		pid, _ := strconv.Atoi(strings.SplitN(after, "\n", 2)[0])
		if pid != 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestHoldInside: a pod is held inside an unmodified kubelet, and goes on step by step, while others come and go. The
// kubelet is traced only while something is armed.
func TestHoldInside(t *testing.T) {
	l := shared.For(t)
	kubelet := l.KubeletPID()
	h := labtest.WatchHealth(t, l)
	a := attach(t, l, "--allow-holds")
	if pids := tracers(t, l); len(pids) > 0 {
		t.Errorf("processes %v trace the kubelet although nothing is armed", pids)
	}
	l.Must("break", "add", "default/inside", "--step", "sync.pod", "--times", "1")
	if pids := tracers(t, l); len(pids) != 1 {
		t.Errorf("processes %v trace the kubelet while something is armed", pids)
	}
	l.Create(threePod("inside"))
	untilHeld(l, "inside", "sync.pod")
	c := labtest.StartChurn(t, l, "others", others)
	c.Until(t, others)

	steps := stepTo(t, l, "inside", "cri.StartContainer", 60)
	next := 0
	for _, want := range []string{"sync.genstatus", "sync.setstatus", "sync.network", "sync.dirs", "sync.volumes", "rt.sync", "rt.compute", "rt.sandbox", "cri.RunPodSandbox", "rt.start", "rt.startcontainer", "image.ensure", "cri.CreateContainer", "cri.StartContainer"} {
		i := slices.Index(steps[next:], want)
		if i < 0 {
			t.Errorf("never held at %s after %v", want, steps[:next])
			continue
		}
		next += i + 1
	}
	noneMissed(t, l.Story("inside"))
	if out := step(t, l, "step", "inside", "--until", "sync.probes"); out.Step != "sync.probes" {
		t.Errorf("stepped until sync.probes, and held at %s", out.Step)
	}
	l.Must("continue", "inside")
	l.UntilReady("inside")
	labtest.Eventually(t, "let go: the kubelet's threads", func() bool { return len(tracers(t, l)) == 0 })
	l.Delete("inside")
	l.UntilGone("inside")
	a.End(syscall.SIGINT)
	a.left()
	c.Check(t)
	h.End(t)
	if now := l.KubeletPID(); now != kubelet {
		t.Errorf("the kubelet was process %d and is %d", kubelet, now)
	}
}

// stepTo lets a held pod go on from step to step until it is held at the step last, or has taken most steps.
func stepTo(t *testing.T, l *labtest.Lab, name, last string, most int) (steps []string) {
	t.Helper()
	for at := ""; at != last && len(steps) < most; {
		at = step(t, l, "step", name).Step
		steps = append(steps, at)
	}
	t.Logf("stepped to %v", steps)
	return steps
}

// noneMissed checks that a pod that went on step by step was held at each step to which its worker came.
func noneMissed(t *testing.T, story []probes.Event) {
	t.Helper()
	c, held, stepped := probes.MustLoad(), map[uint64]bool{}, false
	for _, e := range story {
		if e.Kind == probes.Held {
			held[e.Span] = true
		}
	}
	for _, e := range story {
		stepped = stepped || held[e.Span]
		s := c.Step(e.Step)
		if !stepped || e.Kind != probes.Enter || e.Goroutine != "worker" || held[e.Span] || s.Stage == "cri" || s.Quiet != "" || s.Idle || s.Pod.Exit {
			continue
		}
		if s.Hold.Enter == probes.HoldYes || s.Hold.Enter == probes.HoldWorker {
			t.Errorf("it was not held at %s, event %d", e.Step, e.Seq)
		}
	}
}

// TestHoldInsideAtExit: a pod is held where a step has ended, and the hold shows the step's result.
func TestHoldInsideAtExit(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l, "--allow-holds")
	l.Must("break", "add", "default/exits", "--step", "sync.volumes", "--on", "exit", "--times", "1")
	l.Create(labtest.BusyboxPod("exits", labtest.Sleep))
	e := untilHeld(l, "exits", "sync.volumes")
	if e.Fields["on"] != "exit" {
		t.Errorf("it is held with %v", e.Fields)
	}
	l.LetGo("exits")
	a.End(syscall.SIGINT)
	a.left()
}
