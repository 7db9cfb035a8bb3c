//go:build bench

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
)

// These are measurements on the real node: of the woven kubelet, with everything traced and a client that watches,
// and of the unmodified one. Both have a node of their own at the same time, so that the machine's other work affects
// both.

const (
	startPods  = 30
	idlePods   = 60
	idleWindow = time.Minute

	churnPods   = 720
	churnAtOnce = 20
	afterChurn  = 150 * time.Second
)

type contender struct {
	name string
	lab  *labtest.Lab
}

func contenders(t *testing.T) [2]contender {
	t.Helper()
	c := [2]contender{
		{"unmodified", labtest.Start(t, "--kubelet", labtest.Bin(t, "kubelet"))},
		{"woven", labtest.Start(t)},
	}
	watchAll(t, c[1].lab)
	return c
}

// watchAll attaches a client to the agent that takes every event.
func watchAll(t *testing.T, l *labtest.Lab) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	w, err := l.Agent().Watch(ctx, &agentpb.WatchRequest{History: true, Node: true})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := w.Next(); err != nil {
				return
			}
		}
	}()
}

func benchPod(name string) *corev1.Pod {
	p := labtest.BusyboxPod(name, labtest.Sleep)
	no := false
	p.Spec.AutomountServiceAccountToken = &no
	return p
}

// TestBenchStart measures from the creation of a pod to Running, one pod after
// the other, by turns.
func TestBenchStart(t *testing.T) {
	cs := contenders(t)
	took := [2][]time.Duration{}
	for i := range startPods + 2 {
		for k := range cs {
			who := (i + k) % 2 // the two take turns at being first
			l, name := cs[who].lab, fmt.Sprintf("p%d", i)
			begin := time.Now()
			l.Create(benchPod(name))
			l.Until(name, "Running", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
			if i >= 2 { // the first two warm up
				took[who] = append(took[who], time.Since(begin))
			}
			l.Delete(name)
			l.UntilGone(name)
		}
	}
	plain, woven := median(took[0]), median(took[1])
	fmt.Printf("create to Running, median of %d: unmodified %v, woven and traced %v, ratio %.3f (aim 1.01)\n",
		startPods, plain.Round(time.Millisecond), woven.Round(time.Millisecond), woven.Seconds()/plain.Seconds())
	fmt.Printf("  quartiles: unmodified %v, woven %v\n", quartiles(took[0]), quartiles(took[1]))
}

// TestBenchIdle measures memory and CPU of both kubelets with many pods. It measures memory again after others have
// come and gone beside them: as many as PODSTEP_CHURN says, or else 720.
func TestBenchIdle(t *testing.T) {
	cs := contenders(t)
	for i := range idlePods {
		for _, c := range cs {
			c.lab.Create(benchPod(fmt.Sprintf("p%d", i)))
		}
	}
	for i := range idlePods {
		for _, c := range cs {
			c.lab.UntilReady(fmt.Sprintf("p%d", i))
		}
	}
	var cpu [2]time.Duration
	var rss [2]int64
	pid := func(k int) int { return cs[k].lab.State.Pids["kubelet"] }
	for k := range cs {
		cpu[k] = labtest.CPUTime(t, pid(k))
	}
	time.Sleep(idleWindow) // the time over which is measured
	for k := range cs {
		cpu[k] = labtest.CPUTime(t, pid(k)) - cpu[k]
		rss[k] = residentBytes(t, pid(k))
	}
	fmt.Printf("%d pods: CPU in %v: unmodified %v, woven %v, ratio %.3f (aim 1.02)\n", idlePods, idleWindow, cpu[0], cpu[1], cpu[1].Seconds()/cpu[0].Seconds())
	fmt.Printf("%d pods: memory: unmodified %d MiB, woven %d MiB, %+d MiB (aim +32)\n", idlePods, rss[0]>>20, rss[1]>>20, (rss[1]-rss[0])>>20)
	n := churnCount(t)
	for i := 0; i < n; i += churnAtOnce {
		churnOnce(cs, i, min(churnAtOnce, n-i))
	}
	stats := givenBack(t, cs[1].lab)
	for k := range cs {
		rss[k] = residentBytes(t, pid(k))
	}
	fmt.Printf("%d pods after %d others: memory: unmodified %d MiB, woven %d MiB, %+d MiB (aim +32), ratio %.2f\n",
		idlePods, n, rss[0]>>20, rss[1]>>20, (rss[1]-rss[0])>>20, float64(rss[1])/float64(rss[0]))
	fmt.Printf("  the flight recorder has %d events in %d MiB, %d syncs were folded, %d faults\n",
		stats.RecorderEvents, stats.RecorderBytes>>20, stats.FoldedSyncs, stats.Faults)
}

func churnCount(t *testing.T) int {
	t.Helper()
	text := os.Getenv("PODSTEP_CHURN")
	if text == "" {
		return churnPods
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// churnOnce creates and deletes pods on both nodes.
func churnOnce(cs [2]contender, first, n int) {
	name := func(i int) string { return fmt.Sprintf("churn-%d", first+i) }
	for i := range n {
		for _, c := range cs {
			c.lab.Create(benchPod(name(i)))
		}
	}
	for i := range n {
		for _, c := range cs {
			c.lab.UntilReady(name(i))
			c.lab.Delete(name(i))
		}
	}
	for i := range n {
		for _, c := range cs {
			c.lab.UntilGone(name(i))
		}
	}
}

// givenBack waits until the recorder has dropped what it drops of pods that are gone, and until the Go runtimes of
// both kubelets have given back memory: they collect every two minutes at least.
func givenBack(t *testing.T, l *labtest.Lab) *agentpb.StatsResponse {
	t.Helper()
	agent := l.Agent()
	last := int64(-1)
	for {
		time.Sleep(afterChurn) // the time over which is measured
		stats, err := agent.Stats(l.Context(), &agentpb.StatsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if last >= 0 && stats.RecorderBytes >= last-last/50 {
			return stats
		}
		last = stats.RecorderBytes
	}
}

func quartiles(d []time.Duration) [2]time.Duration {
	d = slices.Sorted(slices.Values(d))
	return [2]time.Duration{d[len(d)/4].Round(time.Millisecond), d[3*len(d)/4].Round(time.Millisecond)}
}

// residentBytes returns the memory that is a process's own.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "Pss:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("smaps_rollup has no Pss")
	return 0
}
