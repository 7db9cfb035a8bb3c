//go:build node

package attach_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// insideKills is how many of podstep's processes are killed; PODSTEP_INSIDE_KILLS=500 makes the whole test.
const insideKills = 8

// TestHoldInsideKilled: podstep, its hold process, its relay process and its guard are killed
// at random moments, while places are armed, threads stopped and pods held, again and again.
// The kubelet lives, and all pods come and go.
func TestHoldInsideKilled(t *testing.T) {
	l := shared.For(t)
	kubelet, h := l.KubeletPID(), labtest.WatchHealth(t, l)
	c := labtest.StartChurn(t, l, "inside-killed", others)
	killed, left := map[string]int{}, times(t, "PODSTEP_INSIDE_KILLS", insideKills)
	for began := time.Now(); left > 0; {
		a := holdsAll(t, l)
		for who := ""; who != "podstep"; left-- {
			time.Sleep(rand.N(longestUntilKilledInside))
			if who = nextToKill(left); left == 1 {
				who = "podstep"
			}
			killOne(t, l, a, who)
			killed[who]++
		}
		a.Wait()
		l.Must("restore")
		labtest.Eventually(t, "gone: what was attached", func() bool { return len(l.AttachTraces()) == 0 && len(tracers(t, l)) == 0 })
		if now := l.KubeletPID(); now != kubelet {
			t.Fatalf("the kubelet was process %d and is %d", kubelet, now)
		}
		t.Logf("after %v: killed %v, %d to go", time.Since(began).Round(time.Second), killed, left)
	}
	c.Check(t)
	h.End(t)
	t.Logf("killed %v; %d pods came and went meanwhile", killed, c.Count())
}

// longestUntilKilledInside is long enough for pods to be held again after the last kill.
const longestUntilKilledInside = time.Second

// holdsAll attaches, and holds each pod for a while at some steps.
func holdsAll(t *testing.T, l *labtest.Lab) *attached {
	t.Helper()
	a := attach(t, l, "--allow-holds")
	for _, at := range []string{"sync.pod", "sync.volumes", "rt.sync"} {
		l.Must("break", "add", "default/*", "--step", at, "--lease", "2s")
	}
	l.UntilAnyEvent("hold", func(e probes.Event) bool { return e.Kind == probes.Held })
	return a
}

// nextToKill returns which process to kill: most often the hold process, since only it touches the kubelet.
func nextToKill(n int) string {
	return []string{"hold", "podstep", "hold", "relay", "hold", "guard", "hold", "podstep"}[n%8]
}

// killOne kills one of podstep's processes. Unless that was podstep, it waits for the one that takes its place.
func killOne(t *testing.T, l *labtest.Lab, a *attached, who string) {
	t.Helper()
	of := map[string]func() []int{
		"podstep": func() []int { return []int{a.PID} },
		"hold":    func() []int { return tracers(t, l) },
		"relay":   a.Relays,
		"guard":   a.Guards,
	}[who]
	var before []int
	labtest.Eventually(t, "there: the "+who, func() bool { before = of(); return len(before) == 1 })
	kill(t, before[0])
	if who == "podstep" {
		return
	}
	labtest.Eventually(t, "replaced: the "+who, func() bool {
		now := of()
		return len(now) == 1 && now[0] != before[0]
	})
}
