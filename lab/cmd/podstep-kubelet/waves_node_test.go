//go:build node

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// The pods come in waves: a node takes 110 at a time. PODSTEP_WAVES is how many waves come; CI makes fewer (scripts/ci.sh).
const (
	wavesDefault = 20
	waveSize     = 25
)

// recorderMost bounds the flight recorder's memory, whatever its limit.
const recorderMost = 64 << 20

// TestWaves: hundreds of pods come and go. The recorder stays within its bound, nothing
// is lost without a drop event, and the newest pod's story is whole.
func TestWaves(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some minutes")
	}
	l := shared.For(t)
	c := newCounter(t, l)
	kubelet := l.State.Pids["kubelet"]
	t.Logf("before: kubelet %d MiB", memory(t, kubelet)>>20)
	begin, waves := time.Now(), labtest.Times(t, "PODSTEP_WAVES", wavesDefault)
	for n := range waves {
		wave(t, l, n)
		s := stats(t, l)
		if s.RecorderBytes > s.RecorderLimit || s.RecorderLimit > recorderMost {
			t.Errorf("after wave %d the recorder has %d bytes, its limit is %d", n, s.RecorderBytes, s.RecorderLimit)
		}
	}
	took := time.Since(begin)

	l.Create(tiny("newest", ""))
	pod := l.UntilReady("newest")
	l.Delete("newest")
	l.UntilGone("newest")
	newest := untilOver(l, pod)
	wellFormed(t, newest, true)
	c.stop(newest[len(newest)-1].Seq)
	var live []probes.Event
	for _, e := range c.events {
		if e.Pod != nil && e.Pod.UID == string(pod.UID) {
			live = append(live, e)
		}
	}
	same(t, newest, live)

	if c.missing > c.reported {
		t.Errorf("%d events are missing, and %d were reported to be", c.missing, c.reported)
	}
	if left := podLines(t, l, "wave-*"); len(left) > 0 {
		t.Errorf("podstep still lists %d of the pods, such as %+v", len(left), left[0])
	}
	s := stats(t, l)
	t.Logf("%d pods in %v: %d events, dropped %v, missing %d; recorder %d of %d KiB, %d events, %d syncs folded; kubelet %d MiB",
		waves*waveSize, took.Round(time.Second), s.Events, s.Dropped, c.missing, s.RecorderBytes>>10, s.RecorderLimit>>10,
		s.RecorderEvents, s.FoldedSyncs, memory(t, kubelet)>>20)
}

func tiny(name, wave string) *corev1.Pod {
	no := false
	p := labtest.BusyboxPod(name, labtest.Sleep)
	p.Labels = map[string]string{"wave": wave}
	p.Spec.AutomountServiceAccountToken = &no
	return p
}

// wave creates pods, waits until all are Ready, deletes them, and waits until
// all are gone.
func wave(t *testing.T, l *labtest.Lab, n int) {
	t.Helper()
	// A wave may take long on a busy machine. Patience is for the next thing that happens in it.
	ctx, pods, label := t.Context(), l.Client.CoreV1().Pods("default"), fmt.Sprintf("wave=%d", n)
	w, err := pods.Watch(ctx, metav1.ListOptions{LabelSelector: label})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for i := range waveSize {
		l.Create(tiny(fmt.Sprintf("wave-%d-%d", n, i), strconv.Itoa(n)))
	}
	ready, gone := map[string]bool{}, 0
	for gone < waveSize {
		var e watch.Event
		ok := false
		select {
		case e, ok = <-w.ResultChan():
		case <-time.After(labtest.Patience):
		}
		if !ok {
			t.Fatalf("wave %d: %d pods got ready and %d went, then the watch ended, or nothing came for %v", n, len(ready), gone, labtest.Patience)
		}
		p, ok := e.Object.(*corev1.Pod)
		switch {
		case !ok:
			t.Fatalf("wave %d: %v", n, e.Object)
		case e.Type == watch.Deleted:
			gone++
		case labtest.Ready(p) && !ready[p.Name]:
			ready[p.Name] = true
			if len(ready) == waveSize {
				err = pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: label})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// counter follows all events and counts those that are missing: events are numbered.
type counter struct {
	events            []probes.Event // without their fields
	missing, reported int64
	until             chan uint64
	done              chan struct{}
}

func newCounter(t *testing.T, l *labtest.Lab) *counter {
	t.Helper()
	c := &counter{until: make(chan uint64, 1), done: make(chan struct{})}
	w, err := l.Agent().Watch(t.Context(), &agentpb.WatchRequest{Node: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(); err != nil { // the first message has no event: the agent has subscribed us
		t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		last, end := uint64(0), ^uint64(0)
		for last < end {
			b, err := w.Next()
			if err != nil {
				return
			}
			for _, e := range b.Events {
				c.count(e, last)
				last = max(last, e.Seq)
			}
			select {
			case end = <-c.until:
			default:
			}
		}
	}()
	return c
}

func (c *counter) count(e probes.Event, last uint64) {
	if e.Kind == probes.Drop {
		for _, n := range e.Fields {
			c.reported += n.(int64)
		}
	}
	if last > 0 && e.Seq > last {
		c.missing += int64(e.Seq - last - 1)
	}
	e.Fields = nil
	c.events = append(c.events, e)
}

// stop waits until the event of that number has come. The node keeps having events, so the goroutine that reads them
// notices the request.
func (c *counter) stop(at uint64) {
	c.until <- at
	<-c.done
}

// memory returns how much memory a process uses, in bytes.
func memory(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kib, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(kib)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("process %d has no VmRSS", pid)
	return 0
}
