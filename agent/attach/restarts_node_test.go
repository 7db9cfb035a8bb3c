//go:build node

package attach_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestDelveKubeletRestarts: a Delve of podstep's own begins anew with the next kubelet.
func TestDelveKubeletRestarts(t *testing.T) {
	l := shared.For(t)
	a := attachDelve(t, l)
	seen(t, l, "before")
	l.KillPart("kubelet", syscall.SIGTERM)
	labtest.Eventually(t, "the delve probe works again", func() bool {
		return strings.Contains(a.Printed(), fmt.Sprintf("the delve probe looks into the new kubelet, process %d", l.KubeletPID()))
	})
	l.Create(labtest.TinyPod("next"))
	l.UntilReady("next")
	l.UntilEvent("next", "end of a step inside", ended("rt.sandbox"))
	l.Delete("next")
	l.UntilGone("next")
	a.End(syscall.SIGINT)
	a.left()
	notTraced(t, l)
}

// TestBothKilledAtOnce: the relay process and its guard are killed as soon as the kubelet comes to them, again and
// again. podstep gives the path back, and is attached again.
func TestBothKilledAtOnce(t *testing.T) {
	l := shared.For(t)
	h := labtest.WatchHealth(t, l)
	for range times(t, "PODSTEP_KILLS", kills) {
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
