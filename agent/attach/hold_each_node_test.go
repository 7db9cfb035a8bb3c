//go:build node

package attach_test

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// The defaults are small; PODSTEP_EACH_SECONDS=5 PODSTEP_EACH_OTHERS=20 makes the whole test.
const (
	eachSeconds = 1
	eachOthers  = others
)

// TestHoldEach: a pod is held for a while at each step of tier 1 that its worker comes to, from the first to the
// last, while others come and go. The node is Ready throughout. The test prints how long the others took before and
// during the holds.
func TestHoldEach(t *testing.T) {
	l := shared.For(t)
	n := labtest.Times(t, "PODSTEP_EACH_OTHERS", eachOthers)
	lease := time.Duration(labtest.Times(t, "PODSTEP_EACH_SECONDS", eachSeconds)) * time.Second
	kubelet, h := l.KubeletPID(), labtest.WatchHealth(t, l)
	a := attach(t, l, "--allow-holds")
	c := labtest.StartChurn(t, l, "each", n)
	c.Until(t, 2*n)

	steps := heldSteps(t, l)
	for _, s := range steps {
		l.Must("break", "add", "default/held", "--step", s, "--times", "1", "--lease", lease.String())
	}
	held := eachPod("held")
	liveFor(t, l, held, 2*labtest.Patience+lease*time.Duration(len(steps)))
	story := l.UntilEvent(held.Name, "end of its worker", func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == "worker.loop" })
	c.Check(t)
	a.End(syscall.SIGINT)
	a.left()
	h.End(t)
	if now := l.KubeletPID(); now != kubelet {
		t.Errorf("the kubelet was process %d and is %d", kubelet, now)
	}
	heldAtEach(t, story, steps)
	compare(t, "created to Ready", c.Times[0].Ready, c.Times[1].Ready)
	compare(t, "deleted to gone", c.Times[0].Gone, c.Times[1].Gone)
	t.Logf("while one was held the others took %.2f of the time to Ready, %.2f to gone", ratio(c.Times[0].Ready, c.Times[1].Ready), ratio(c.Times[0].Gone, c.Times[1].Gone))
}

// heldSteps returns the steps of tier 1 at which a pod's worker can be held, or a goroutine for which it waits.
func heldSteps(t *testing.T, l *labtest.Lab) (out []string) {
	t.Helper()
	info, err := l.Agent().Info(l.Context(), &agentpb.InfoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	c := probes.MustLoad()
	for _, can := range info.Steps {
		s := c.Step(can.Name)
		own := s.Goroutine == "worker" || s.Goroutine == "kill"
		if s.Tier == 1 && own && (can.HoldEnter == string(probes.HoldYes) || can.HoldEnter == string(probes.HoldWorker)) {
			out = append(out, s.Name)
		}
	}
	return out
}

// eachPod is a pod whose worker comes to as many steps as one can.
func eachPod(name string) *corev1.Pod {
	p := threePod(name)
	hook := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}
	p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook, PreStop: hook}
	return p
}

// liveFor makes a pod come and go within atMost.
func liveFor(t *testing.T, l *labtest.Lab, p *corev1.Pod, atMost time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	l.Create(p)
	pods := l.Client.CoreV1().Pods(metav1.NamespaceDefault)
	w, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.Name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := labtest.Seen(w, labtest.ReadyEvent); err != nil {
		t.Fatalf("pod %s is not Ready: %v", p.Name, err)
	}
	l.Delete(p.Name)
	if err := labtest.Seen(w, func(e watch.Event) bool { return e.Type == watch.Deleted }); err != nil {
		t.Fatalf("pod %s is not gone: %v", p.Name, err)
	}
}

// heldAtEach checks that a pod was held at each of the steps to which its worker came.
func heldAtEach(t *testing.T, story []probes.Event, steps []string) {
	t.Helper()
	came, begun, took := map[string]bool{}, map[uint64]time.Time{}, map[string]time.Duration{}
	for _, e := range story {
		switch e.Kind {
		case probes.Enter:
			came[e.Step] = true
		case probes.Held:
			begun[e.Span] = e.Time
		case probes.Released:
			took[e.Step] = e.Time.Sub(begun[e.Span])
		}
	}
	var all []time.Duration
	for _, s := range steps {
		d, held := took[s]
		switch {
		case held:
			all = append(all, d)
		case came[s]:
			t.Errorf("it came to %s and was not held there", s)
		default:
			t.Logf("it did not come to %s", s)
		}
	}
	const least = 20
	if len(all) < least {
		t.Fatalf("it was held at %d steps, fewer than %d", len(all), least)
	}
	t.Logf("it was held at %d of %d steps, for %v to %v", len(all), len(steps), slices.Min(all).Round(time.Millisecond), slices.Max(all).Round(time.Millisecond))
}

// ratio returns the median during divided by the median before.
func ratio(before, during []time.Duration) float64 {
	if len(before) == 0 || len(during) == 0 {
		return 0
	}
	return float64(median(during)) / float64(max(median(before), time.Millisecond))
}
