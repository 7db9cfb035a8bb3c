//go:build node

package attach_test

import (
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/delve/rescue"
	"github.com/podstep/podstep/probes/delve/rescue/victim"
)

// TestDebuggerKilled: the debugger process is killed or stopped at random moments, or its rescuer before it, while pods
// come and go and some are held. The kubelet lives, no pod fails, podstep reports what happened, and nothing is left in
// the kubelet.
func TestDebuggerKilled(t *testing.T) {
	l := shared.For(t)
	kubelet, h := l.KubeletPID(), labtest.WatchHealth(t, l)
	c := labtest.StartChurn(t, l, "debugger-killed", 3)
	faults := []string{"kill", "stop the rescuer, then kill", "stop", "kill the rescuer, then kill"}
	for round := range times(t, "PODSTEP_DELVE_KILLS", delveKills) {
		a := attachDelve(t, l, "--allow-holds")
		l.Must("break", "add", "default/*", "--step", "sync.volumes", "--lease", "2s")
		l.UntilAnyEvent("hold", func(e probes.Event) bool { return e.Kind == probes.Held })
		time.Sleep(rand.N(longestUntilKilledInside))
		fault := faults[round%len(faults)]
		breakDebugger(t, a, fault)
		labtest.Eventually(t, fault+": reported: the delve probe has failed", func() bool {
			return strings.Contains(a.Printed(), "the delve probe has failed")
		})
		notTraced(t, l)
		labtest.Eventually(t, fault+": gone: the net", func() bool {
			n, err := rescue.Find(kubelet)
			return n == nil && err == nil
		})
		a.End(syscall.SIGTERM)
		a.left()
		if now := l.KubeletPID(); now != kubelet {
			t.Fatalf("%s: the kubelet was process %d and is %d", fault, kubelet, now)
		}
	}
	c.Check(t)
	h.End(t)
	t.Logf("%d pods came and went meanwhile", c.Count())
}

// breakDebugger makes a fault happen to podstep's debugger process.
func breakDebugger(t *testing.T, a *attached, fault string) {
	t.Helper()
	debugger, rescuers := a.Debuggers()[0], a.Rescuers()
	of, isOfRescuer := strings.CutSuffix(fault, " the rescuer, then kill")
	signal := map[string]syscall.Signal{"kill": syscall.SIGKILL, "stop": syscall.SIGSTOP}[of]
	if isOfRescuer {
		if err := syscall.Kill(rescuers[0], signal); err != nil {
			t.Fatal(err)
		}
		labtest.Eventually(t, "another rescuer", func() bool {
			now := a.Rescuers()
			return len(now) == 1 && now[0] != rescuers[0]
		})
		victim.AwaitTracer(t, debugger, rescuers[0])
		signal = syscall.SIGKILL
	}
	if err := syscall.Kill(debugger, signal); err != nil {
		t.Fatal(err)
	}
}
