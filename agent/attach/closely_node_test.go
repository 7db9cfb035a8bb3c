//go:build node

package attach_test

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
)

// closer are steps of tier 2 that every pod's creation has in a woven kubelet.
var closer = []string{
	"admit.active", "admit.cpu", "admit.device", "admit.evict", "admit.memory", "cache.set", "pm.add", "rt.computeinit", "rt.env", "rt.ips",
	"rt.measured", "rt.precreate", "rt.prestart", "rt.runopts", "rt.sandboxconfig", "status.internal", "sync.configmaps",
	"sync.laststatus", "sync.pcm", "sync.qos", "sync.secrets", "vol.spec", "worker.allow", "worker.enqueue",
}

// closerIn returns the steps that a pod's story has, and that are seen only closely.
func closerIn(l *labtest.Lab, pod string) map[string]bool {
	closely, out := map[string]bool{}, map[string]bool{}
	for _, s := range l.Steps() {
		closely[s.Name] = slices.ContainsFunc(s.Probes, func(p labtest.Ability) bool { return p.Closely })
	}
	for _, e := range l.Story(pod) {
		if closely[e.Step] && e.Probe == "uprobe" {
			out[e.Step] = true
		}
	}
	return out
}

// TestClosely: of a pod that is watched closely all steps are seen, from its first on, and of the others only those of every pod's
// story. A call that goes on when nobody watches the pod any more gets an end.
func TestClosely(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l)
	ctx, away := context.WithCancel(t.Context())
	defer away()
	began := time.Now()
	if err := l.Agent().WatchClosely(ctx, &agentpb.PodSelector{Namespace: "default", Name: "close"}); err != nil {
		t.Fatal(err)
	}
	t.Logf("it looks closely after %v", time.Since(began))
	for _, name := range []string{"other", "close"} {
		l.Create(threePod(name))
	}
	for _, name := range []string{"other", "close"} {
		l.UntilReady(name)
	}
	seen := closerIn(l, "close")
	for _, step := range closer {
		if !seen[step] {
			t.Errorf("of the pod that is watched closely %s is not seen", step)
		}
	}
	if others := closerIn(l, "other"); len(others) > 0 {
		t.Errorf("of the other pod it sees %v", others)
	}
	away()
	for _, name := range []string{"other", "close"} {
		l.Delete(name)
	}
	for _, name := range []string{"other", "close"} {
		l.UntilGone(name)
	}
	for _, e := range l.Story("close") {
		if strings.Contains(e.Error, "nobody saw") || strings.Contains(e.Error, "panicked") {
			t.Errorf("%s ends with %q", e.Step, e.Error)
		}
	}
	a.End(syscall.SIGINT)
	a.left()
}

// TestBreakpointClosely: a pod is held at a step of tier 2, though nobody watches it closely.
func TestBreakpointClosely(t *testing.T) {
	l := shared.For(t)
	a := attach(t, l, "--allow-holds")
	l.Must("break", "add", "default/env", "--step", "rt.env", "--times", "1")
	l.Create(labtest.TinyPod("env"))
	if e := untilHeld(l, "env", "rt.env"); e.Probe != "uprobe" {
		t.Errorf("it is held by probe %q", e.Probe)
	}
	l.Must("continue", "default/env")
	l.UntilReady("env")
	if seen := closerIn(l, "env"); !seen["rt.env"] || slices.ContainsFunc(closer, func(s string) bool { return s != "rt.env" && seen[s] }) {
		t.Errorf("with a breakpoint at rt.env it sees %v", seen)
	}
	l.Delete("env")
	l.UntilGone("env")
	a.End(syscall.SIGINT)
	a.left()
}
