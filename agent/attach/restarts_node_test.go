//go:build node

package attach_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestDelveKubeletRestarts: a Delve of podstep's own begins anew with the next kubelet.
func TestDelveKubeletRestarts(t *testing.T) {
	l := shared.For(t)
	a := attachDelve(t, l)
	seen(t, l, "before")
	l.KillPart("kubelet", syscall.SIGTERM)
	untilLooks(t, l, a.Attached, "delve")
	l.Create(labtest.TinyPod("next"))
	l.UntilReady("next")
	l.UntilEvent("next", "end of a step inside", ended("rt.sandbox"))
	l.Delete("next")
	l.UntilGone("next")
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
}

// restarts is how often the kubelet is ended beside each probe; PODSTEP_RESTARTS=20 makes the long test.
const restarts = 3

// TestRestartsUnderChurn: the kubelet is ended and killed, again and again, while pods come and go and some are held.
// Each time the calls of the kubelet that has ended are over, with that reason. podstep looks into the next kubelet, and
// holds there what it held in the one before.
func TestRestartsUnderChurn(t *testing.T) {
	for probe, start := range map[string]func(*testing.T, *labtest.Lab, ...string) *attached{"uprobe": attach, "delve": attachDelve} {
		t.Run(probe, func(t *testing.T) {
			l := shared.For(t)
			a := start(t, l, "--allow-holds")
			l.Must("break", "add", "default/*", "--step", "sync.volumes", "--lease", "2s")
			defer showIfFailed(t, l)
			c := labtest.StartChurn(t, l, "restarts-"+probe, 3)
			// With Delve it takes a while until the breakpoint is there.
			armed := func() { l.UntilAnyEvent("hold", func(e probes.Event) bool { return e.Kind == probes.Held }) }
			for i := range labtest.Times(t, "PODSTEP_RESTARTS", restarts) {
				armed()
				pod := fmt.Sprintf("again-%s-%d", probe, i)
				l.Create(labtest.TinyPod(pod))
				untilHeld(l, pod, "sync.volumes")
				before := l.KubeletPID()
				l.KillPart("kubelet", []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[i%2])
				l.UntilEvent(pod, "end of its calls in the kubelet that has ended", func(e probes.Event) bool {
					return e.Kind == probes.Exit && e.Step == "sync.pod" && strings.Contains(e.Error, fmt.Sprintf("process %d, has ended", before))
				})
				untilLooks(t, l, a.Attached, probe)
				l.UntilReady(pod)
				l.Delete(pod)
				l.UntilGone(pod)
			}
			armed()
			seen(t, l, "last-"+probe)
			untilHeld(l, "last-"+probe, "sync.volumes")
			a.End(syscall.SIGINT)
			a.left()
			notTraced(t, l)
			c.Check(t)
		})
	}
}

// TestBothKilledAtOnce: the relay process and its guard are killed as soon as the kubelet comes to them, again and
// again. podstep gives the path back, and is attached again.
func TestBothKilledAtOnce(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	for range labtest.Times(t, "PODSTEP_KILLS", kills) {
		before := socketOf(t, l)
		a := &attached{t: t, l: l, before: before, Attached: l.StartAttach()}
		labtest.Eventually(t, "the path is taken", func() bool {
			now, err := l.Socket()
			return err == nil && labtest.Parent(now.Server) == a.PID && len(a.Guards()) == 1
		})
		for _, pid := range append(a.Guards(), a.Relays()...) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-a.Ready
		labtest.Eventually(t, "attached again", func() bool {
			now, err := l.Socket()
			return err == nil && labtest.Parent(now.Server) == a.PID && len(a.Guards()) == 1
		})
		seen(t, l, "again")
		a.End(syscall.SIGINT)
		a.left()
	}
	h.End(t)
	if _, err := os.Lstat(l.State.CRI); err != nil {
		t.Error(err)
	}
}
