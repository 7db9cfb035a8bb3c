//go:build node

package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/podstep/podstep/agent/lab/labtest"
)

// churn is pods that come and go all the time, as on any node, and how long
// that takes them.
type churn struct {
	client kubernetes.Interface
	prefix string
	over   chan struct{}
	lived  chan struct{} // one for each pod that came and went
	wait   sync.WaitGroup

	mu    sync.Mutex
	phase int
	times [2]lifetimes
	errs  []error
}

// lifetimes are how long pods took.
type lifetimes struct {
	ready []time.Duration // from creation to Ready
	gone  []time.Duration // from deletion to gone
}

// startChurn has n pods at a time come and go, until the end.
func startChurn(t *testing.T, l *labtest.Lab, prefix string, n int) *churn {
	t.Helper()
	c := &churn{client: l.Client, prefix: prefix, over: make(chan struct{}), lived: make(chan struct{}, 1)}
	for i := range n {
		c.wait.Go(func() { c.run(i) })
	}
	t.Cleanup(c.end)
	return c
}

func (c *churn) run(worker int) {
	for n := 0; ; n++ {
		select {
		case <-c.over:
			return
		default:
		}
		c.mu.Lock()
		phase := c.phase
		c.mu.Unlock()
		ready, gone, err := live(c.client, fmt.Sprintf("%s-%d-%d", c.prefix, worker, n))
		c.mu.Lock()
		if err != nil {
			c.errs = append(c.errs, err)
		} else {
			c.times[phase].ready = append(c.times[phase].ready, ready)
			c.times[phase].gone = append(c.times[phase].gone, gone)
		}
		c.mu.Unlock()
		select {
		case c.lived <- struct{}{}:
		default:
		}
	}
}

// until waits until n pods of this phase have come and gone, then begins the
// next phase. A pod belongs to the phase in which it was created.
func (c *churn) until(t *testing.T, n int) {
	t.Helper()
	patience := time.After(3 * labtest.Patience)
	for {
		c.mu.Lock()
		phase, done := c.phase, len(c.times[c.phase].gone) >= n
		if done {
			c.phase = min(phase+1, len(c.times)-1)
		}
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.lived:
		case <-patience:
			t.Fatalf("%d pods have not come and gone", n)
		}
	}
}

// end lets the last pods go and waits for them.
func (c *churn) end() {
	select {
	case <-c.over:
	default:
		close(c.over)
	}
	c.wait.Wait()
}

// check ends the churn and fails the test if a pod failed.
func (c *churn) check(t *testing.T) {
	t.Helper()
	c.end()
	for _, err := range c.errs {
		t.Error(err)
	}
	if c.count() == 0 {
		t.Error("no pod came and went")
	}
}

func (c *churn) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.times[0].gone) + len(c.times[1].gone)
}

// tinyPod costs a node as little as a pod can.
func tinyPod(name string) *corev1.Pod {
	p := labtest.BusyboxPod(name, labtest.Sleep)
	p.Spec.AutomountServiceAccountToken = new(bool)
	return p
}

// live has a pod come and go. It is for goroutines other than the test's.
func live(client kubernetes.Interface, name string) (ready, gone time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), labtest.Patience)
	defer cancel()
	pods := client.CoreV1().Pods("default")
	begin := time.Now()
	p, err := pods.Create(ctx, tinyPod(name), metav1.CreateOptions{})
	if err != nil {
		return 0, 0, fmt.Errorf("create pod %s: %w", name, err)
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: p.ResourceVersion})
	if err != nil {
		return 0, 0, fmt.Errorf("watch pod %s: %w", name, err)
	}
	defer w.Stop()
	if err := seen(w, func(e watch.Event) bool { return isReady(e.Object) }); err != nil {
		return 0, 0, fmt.Errorf("pod %s is not Ready: %w", name, err)
	}
	ready = time.Since(begin)
	begin = time.Now()
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return 0, 0, fmt.Errorf("delete pod %s: %w", name, err)
	}
	if err := seen(w, func(e watch.Event) bool { return e.Type == watch.Deleted }); err != nil {
		return 0, 0, fmt.Errorf("pod %s is not gone: %w", name, err)
	}
	return ready, time.Since(begin), nil
}

func isReady(o any) bool {
	p, ok := o.(*corev1.Pod)
	return ok && labtest.Ready(p)
}

// seen waits for an event. The watch ends with its context.
func seen(w watch.Interface, is func(watch.Event) bool) error {
	var last any
	for e := range w.ResultChan() {
		if is(e) {
			return nil
		}
		if e.Type == watch.Error {
			return fmt.Errorf("watch: %v", e.Object)
		}
		if p, ok := e.Object.(*corev1.Pod); ok {
			last = p.Status
		}
	}
	return fmt.Errorf("the wait is over; status was %+v", last)
}
