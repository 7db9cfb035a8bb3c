//go:build bench

package main

import (
	"fmt"
	"regexp"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// delvePods is how many pods are created each way, one after the other.
const delvePods = 4

// TestBenchDelve measures what a hit costs a kubelet through Delve, and how long it stands still
// for one pod's creation; next to an unmodified kubelet and a woven one.
func TestBenchDelve(t *testing.T) {
	cs := contenders(t)
	plain, woven := cs[0].lab, cs[1].lab
	fmt.Printf("from the creation of a pod to Running, %d pods: unmodified %v, woven %v\n", delvePods, creations(plain, "plain"), creations(woven, "woven"))
	a := plain.Attach("--probe", "cri,delve,api", "--risk-the-kubelet")
	before := standstill(t, plain)
	took := creations(plain, "delve")
	after := standstill(t, plain)
	hits, stood := after.stops-before.stops, after.stood-before.stood
	fmt.Printf("  with podstep's Delve %v: the kubelet stands still for %v in %d stops a pod, %v each\n",
		took, stood/delvePods, hits/delvePods, stood/time.Duration(max(hits, 1)))
	a.End(syscall.SIGINT)
}

// creations is the median time that a pod takes to run.
func creations(l *labtest.Lab, name string) time.Duration {
	var all []time.Duration
	for i := range delvePods {
		pod := fmt.Sprintf("%s-%d", name, i)
		began := time.Now()
		l.Create(benchPod(pod))
		l.UntilReady(pod)
		all = append(all, time.Since(began))
	}
	slices.Sort(all)
	return all[len(all)/2].Round(time.Millisecond)
}

type stillness struct {
	stood time.Duration
	stops int
}

var standsStill = regexp.MustCompile(`stood still for (\S+) in (\d+) stops`)

// standstill is how long the kubelet has stood still, as podstep doctor prints it.
func standstill(t *testing.T, l *labtest.Lab) (s stillness) {
	t.Helper()
	labtest.Eventually(t, "podstep reports how long the kubelet stood still", func() bool {
		out, _, _ := l.Podstep("doctor")
		m := standsStill.FindStringSubmatch(out)
		if m == nil {
			return false
		}
		s.stood, _ = time.ParseDuration(m[1])
		_, err := fmt.Sscan(m[2], &s.stops)
		return err == nil
	})
	return s
}
