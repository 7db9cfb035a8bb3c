//go:build bench

package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

const (
	insideRounds = 4
	insideWindow = 20 * time.Second
)

// TestBenchInside measures the CPU time of kubelets with many pods that have health probes: an unmodified kubelet,
// the same kubelet while podstep attach looks inside through uprobes, and at the same time a woven one. A client
// takes every event of the last two.
func TestBenchInside(t *testing.T) {
	cs := contenders(t)
	for i := range idlePods {
		for _, c := range cs {
			c.lab.Create(probedPod(fmt.Sprintf("p%d", i)))
		}
	}
	for i := range idlePods {
		for _, c := range cs {
			c.lab.UntilReady(fmt.Sprintf("p%d", i))
		}
	}
	plain, woven := cs[0].lab, cs[1].lab
	var alone, inside, others []time.Duration // of the unmodified kubelet, of the same with uprobes, and of the woven one
	measure := func(into *[]time.Duration) {
		pids := []int{plain.State.Pids["kubelet"], woven.State.Pids["kubelet"]}
		before := []time.Duration{labtest.CPUTime(t, pids[0]), labtest.CPUTime(t, pids[1])}
		time.Sleep(insideWindow) // the time over which is measured
		*into = append(*into, labtest.CPUTime(t, pids[0])-before[0])
		others = append(others, labtest.CPUTime(t, pids[1])-before[1])
	}
	for range insideRounds {
		measure(&alone)
		a := plain.Attach("--probe", "uprobe")
		watchAll(t, plain)
		measure(&inside)
		a.End(syscall.SIGINT)
	}
	fmt.Printf("%d pods with readiness probes: CPU of the kubelet, share of a core: unmodified %.2f %%, looked into by podstep attach %.2f %% (%+.2f, aim +2), woven %.2f %% (%+.2f)\n",
		idlePods, shareOfCore(alone), shareOfCore(inside), shareOfCore(inside)-shareOfCore(alone), shareOfCore(others), shareOfCore(others)-shareOfCore(alone))
	fmt.Printf("  in windows of %v: unmodified %v, looked into %v, woven %v\n", insideWindow, alone, inside, others)
}

// shareOfCore returns the median of windows, in percent of a core.
func shareOfCore(windows []time.Duration) float64 {
	sorted := slices.Sorted(slices.Values(windows))
	middle := sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]
	return 100 * middle.Seconds() / 2 / insideWindow.Seconds()
}

// probedPod returns a pod with a readiness probe, which is most of a kubelet's work for a pod that runs.
func probedPod(name string) *corev1.Pod {
	p := benchPod(name)
	p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}},
		PeriodSeconds: 2,
	}
	return p
}
