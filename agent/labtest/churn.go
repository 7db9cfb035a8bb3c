package labtest

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
)

// Churn makes pods come and go all the time, as on any node, and measures how long that takes.
type Churn struct {
	client kubernetes.Interface
	prefix string
	pace   *time.Ticker
	over   chan struct{}
	lived  chan struct{} // one for each pod that came and went
	wait   sync.WaitGroup

	mu    sync.Mutex // guards the fields below; Times may be read after Check
	phase int
	errs  []error
	// Times are the lifetimes in two phases: before what is tested, and during it.
	Times [2]Lifetimes
}

// Lifetimes has how long each pod took.
type Lifetimes struct {
	Ready []time.Duration // from creation to Ready
	Gone  []time.Duration // from deletion to gone
}

// churnEvery is the time from one new pod to the next, after the first n. A pod's life takes two seconds of a processor, and
// a node that makes pods as fast as it can leaves none for what is tested.
const churnEvery = 4 * time.Second

// StartChurn makes up to n pods at a time come and go, until Check or the end of the test. The first n come at once.
func StartChurn(tb testing.TB, l *Lab, prefix string, n int) *Churn {
	tb.Helper()
	c := &Churn{client: l.Client, prefix: prefix, pace: time.NewTicker(churnEvery), over: make(chan struct{}), lived: make(chan struct{}, 1)}
	for i := range n {
		c.wait.Go(func() { c.run(i) })
	}
	tb.Cleanup(c.end)
	return c
}

func (c *Churn) run(worker int) {
	for n := 0; n == 0 || c.next(); n++ {
		c.mu.Lock()
		phase := c.phase
		c.mu.Unlock()
		ready, gone, err := Live(c.client, fmt.Sprintf("%s-%d-%d", c.prefix, worker, n))
		c.mu.Lock()
		if err != nil {
			c.errs = append(c.errs, err)
		} else {
			c.Times[phase].Ready = append(c.Times[phase].Ready, ready)
			c.Times[phase].Gone = append(c.Times[phase].Gone, gone)
		}
		c.mu.Unlock()
		select {
		case c.lived <- struct{}{}:
		default:
		}
	}
}

// next waits until another pod may come. It returns false when the churn is over.
func (c *Churn) next() bool {
	select {
	case <-c.over:
		return false
	case <-c.pace.C:
		return true
	}
}

// Until waits until n pods of this phase have come and gone, then begins the
// next phase. A pod belongs to the phase in which it was created.
func (c *Churn) Until(tb testing.TB, n int) {
	tb.Helper()
	patience := time.After(3 * Patience)
	for {
		c.mu.Lock()
		phase, done := c.phase, len(c.Times[c.phase].Gone) >= n
		if done {
			c.phase = min(phase+1, len(c.Times)-1)
		}
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.lived:
		case <-patience:
			tb.Fatalf("%d pods have not come and gone", n)
		}
	}
}

// end lets the last pods go and waits for them.
func (c *Churn) end() {
	select {
	case <-c.over:
	default:
		close(c.over)
		c.pace.Stop()
	}
	c.wait.Wait()
}

// Check ends the churn and fails the test if a pod failed.
func (c *Churn) Check(tb testing.TB) {
	tb.Helper()
	c.end()
	for _, err := range c.errs {
		tb.Error(err)
	}
	if c.Count() == 0 {
		tb.Error("no pod came and went")
	}
}

// Count is how many pods came and went.
func (c *Churn) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.Times[0].Gone) + len(c.Times[1].Gone)
}

// TinyPod returns a pod that costs a node as little as a pod can.
func TinyPod(name string) *corev1.Pod {
	p := BusyboxPod(name, Sleep)
	p.Spec.AutomountServiceAccountToken = new(bool)
	return p
}

// Live makes a pod come and go, and returns how long each took. It is for goroutines other than the test's.
func Live(client kubernetes.Interface, name string) (ready, gone time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	pods := client.CoreV1().Pods("default")
	begin := time.Now()
	p, err := pods.Create(ctx, TinyPod(name), metav1.CreateOptions{})
	if err != nil {
		return 0, 0, fmt.Errorf("create pod %s: %w", name, err)
	}
	w, err := pods.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, ResourceVersion: p.ResourceVersion})
	if err != nil {
		return 0, 0, fmt.Errorf("watch pod %s: %w", name, err)
	}
	defer w.Stop()
	if err := Seen(w, ReadyEvent); err != nil {
		return 0, 0, fmt.Errorf("pod %s is not Ready: %w", name, err)
	}
	ready = time.Since(begin)
	begin = time.Now()
	if err := pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return 0, 0, fmt.Errorf("delete pod %s: %w", name, err)
	}
	if err := Seen(w, func(e watch.Event) bool { return e.Type == watch.Deleted }); err != nil {
		return 0, 0, fmt.Errorf("pod %s is not gone: %w", name, err)
	}
	return ready, time.Since(begin), nil
}

// ReadyEvent reports whether an event is of a pod that is Ready.
func ReadyEvent(e watch.Event) bool {
	p, ok := e.Object.(*corev1.Pod)
	return ok && Ready(p)
}

// Seen waits for an event. It is for goroutines other than the test's. The watch ends with its context.
func Seen(w watch.Interface, is func(watch.Event) bool) error {
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
