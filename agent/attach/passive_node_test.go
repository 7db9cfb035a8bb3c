//go:build node

package attach_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestPassive: nothing stands in the path. podstep shows what the API server and the kubelet report, and names the
// reason why it cannot hold a pod.
func TestPassive(t *testing.T) {
	l := shared.For(t)
	before := socketOf(t, l)
	a := l.Attach("--passive", "--probe", "api,kubelet")
	if now := socketOf(t, l); now != before || len(a.Relays()) > 0 {
		t.Errorf("the socket was %+v and is %+v, with %v before it", before, now, a.Relays())
	}
	c := labtest.StartChurn(t, l, "passive", others)
	seen := func(step string) func(probes.Event) bool {
		return func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == step }
	}
	l.UntilAnyEvent("report of the API server", seen("cluster.bound"))
	l.UntilAnyEvent("report of the kubelet", seen("cluster.kubelet"))
	c.Until(t, others)
	for _, args := range [][]string{
		{"break", "add", "default/*", "--step", "cri.RunPodSandbox"},
		{"break", "add", "default/*", "--step", "cri.RunPodSandbox", "--action", "fail=no"},
	} {
		if _, text, code := l.Podstep(args...); code == 0 || !strings.Contains(text, "attach --passive puts nothing in the path") {
			t.Errorf("podstep %v ended with code %d: %s", args, code, text)
		}
	}
	if text := l.Must("doctor"); !strings.Contains(text, "the cri probe is off") {
		t.Errorf("podstep doctor: %s", text)
	}
	c.Check(t)
	a.End(syscall.SIGINT)
	if now := socketOf(t, l); now != before {
		t.Errorf("the socket was %+v and is %+v", before, now)
	}
}

// TestAllCalls: calls that are no steps of their own are in the node's story if somebody asks for them, with nothing
// but their method.
func TestAllCalls(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l, "--all-calls")
	labtest.Eventually(t, "seen: a list that PLEG asks for, with its end", func() bool {
		for _, e := range l.Recorded() {
			if e.Step == "cri.other" && e.Kind == probes.Enter && len(e.Fields) != 1 {
				t.Fatalf("shown: %+v", e)
			}
			if e.Step == "cri.other" && e.Kind == probes.Exit && e.DurationNs > 0 {
				return true
			}
		}
		return false
	})
	a.End(syscall.SIGINT)
	a.left()
}
