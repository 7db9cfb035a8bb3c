//go:build node

package attach_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/lab/labtest"
	"github.com/podstep/podstep/probes"
)

// attachDelve attaches with the delve probe in place of the uprobe probe.
func attachDelve(t *testing.T, l *labtest.Lab, flags ...string) *attached {
	t.Helper()
	return attach(t, l, append([]string{"--probe", "cri,delve,api", "--risk-the-kubelet"}, flags...)...)
}

// TestDelve: Delve shows the steps of a pod's life in a kubelet without debug information,
// and leaves nothing of itself in it.
func TestDelve(t *testing.T) {
	l := shared.For(t)
	kubelet := l.KubeletPID()
	a := attachDelve(t, l)
	l.Create(labtest.BusyboxPod("delved", labtest.Sleep))
	l.UntilReady("delved")
	l.Delete("delved")
	l.UntilGone("delved")
	var seen []string
	for _, e := range l.Story("delved") {
		if e.Kind == probes.Enter && !slices.Contains(seen, e.Step) {
			seen = append(seen, e.Step)
		}
		if e.Kind == probes.Exit && strings.Contains(e.Error, "did not return") {
			t.Errorf("the end of %s was not seen", e.Step)
		}
	}
	t.Logf("%d steps: %v", len(seen), seen)
	for _, want := range []string{
		"merge.merge", "loop.add", "admit.can", "worker.update", "worker.loop", "worker.start", "worker.turn", "sync.pod", "sync.genstatus", "sync.volumes",
		"rt.sync", "rt.compute", "rt.sandbox", "cri.RunPodSandbox", "rt.start", "image.ensure", "cri.CreateContainer", "cri.StartContainer", "status.patch",
		"cri.StopPodSandbox",
	} {
		if !slices.Contains(seen, want) {
			t.Errorf("%s was not seen", want)
		}
	}
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	if now := l.KubeletPID(); now != kubelet {
		t.Errorf("the kubelet was process %d and is %d", kubelet, now)
	}
}

func notTraced(t *testing.T, l *labtest.Lab) {
	t.Helper()
	labtest.Eventually(t, "nobody traces the kubelet", func() bool { return len(tracers(t, l)) == 0 })
}

// TestDelveHold: a pod is held by Delve, one step after the other, while others come and go;
// where it is held its stack can be seen.
func TestDelveHold(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	a := attachDelve(t, l, "--allow-holds")
	l.Must("break", "add", "default/stopped", "--step", "sync.pod", "--times", "1")
	l.Create(threePod("stopped"))
	untilHeld(l, "stopped", "sync.pod")
	if out := l.Must("stack", "stopped"); !strings.Contains(out, "kubelet.(*Kubelet).SyncPod\n") || !strings.Contains(out, "(*podWorkers).podWorkerLoop\n") {
		t.Errorf("its stack is\n%s", out)
	}
	c := labtest.StartChurn(t, l, "beneath-delve", others)
	c.Until(t, others)
	stepTo(t, l, "stopped", "rt.compute", 30)
	noneMissed(t, l.Story("stopped"))
	l.Must("continue", "stopped")
	l.UntilReady("stopped")
	l.Delete("stopped")
	l.UntilGone("stopped")
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
	c.Check(t)
	h.End(t)
}

// delveKills is how often podstep is killed; PODSTEP_DELVE_KILLS=50 is the whole of it.
const delveKills = 4

// TestDelveKilled: podstep is killed at random moments while Delve has breakpoints in the
// kubelet and pods are held. The kubelet lives, and has none of them any more.
func TestDelveKilled(t *testing.T) {
	l := shared.For(t)
	kubelet, h := l.KubeletPID(), labtest.WatchHealth(t, l)
	c := labtest.StartChurn(t, l, "delve-killed", 3)
	for range times(t, "PODSTEP_DELVE_KILLS", delveKills) {
		a := attachDelve(t, l, "--allow-holds")
		l.Must("break", "add", "default/*", "--step", "sync.volumes", "--lease", "2s")
		l.UntilAnyEvent("hold", func(e probes.Event) bool { return e.Kind == probes.Held })
		time.Sleep(rand.N(longestUntilKilledInside))
		a.Signal(syscall.SIGKILL)
		a.Wait()
		notTraced(t, l)
		l.Must("restore")
		labtest.Eventually(t, "gone: what was attached", func() bool { return len(l.AttachTraces()) == 0 })
		if now := l.KubeletPID(); now != kubelet {
			t.Fatalf("the kubelet was process %d and is %d", kubelet, now)
		}
	}
	c.Check(t)
	h.End(t)
	t.Logf("%d pods came and went meanwhile", c.Count())
}
