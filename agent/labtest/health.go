package labtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// Health watches whether the node stays healthy: it must be Ready, renew its lease in time, and have a healthy PLEG.
type Health struct {
	l     *Lab
	log   string
	from  int64 // where the kubelet's log ended when the watch began
	begin time.Time
	// Summary is set by End, and shows what was seen.
	Summary string
	stop    context.CancelFunc
	wait    sync.WaitGroup

	mu       sync.Mutex
	wrong    []string
	renewed  []time.Time
	duration time.Duration // for how long a renewal of the lease counts
}

// WatchHealth begins to watch. On a node that has just begun it waits for the kubelet's first lease.
func WatchHealth(tb testing.TB, l *Lab) *Health {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	tb.Cleanup(cancel)
	only := metav1.ListOptions{FieldSelector: "metadata.name=" + l.State.Node}
	leased := func() (*coordinationv1.LeaseList, error) {
		return l.Client.CoordinationV1().Leases("kube-node-lease").List(ctx, only)
	}
	Eventually(tb, "the first lease of the node", func() bool {
		leases, err := leased()
		return err == nil && len(leases.Items) > 0
	})
	h := &Health{l: l, log: filepath.Join(l.Dir, "logs", "kubelet.log"), begin: time.Now(), stop: cancel}
	info, err := os.Stat(h.log)
	if err != nil {
		tb.Fatal(err)
	}
	h.from = info.Size()
	nodes, err := l.Client.CoreV1().Nodes().List(ctx, only)
	if err != nil {
		tb.Fatal(err)
	}
	leases, err := leased()
	if err != nil {
		tb.Fatal(err)
	}
	for i := range leases.Items {
		// A watch of a few seconds sees no renewal. The list still shows for how long one counts.
		h.see(watch.Event{Type: watch.Added, Object: &leases.Items[i]})
	}
	h.watch(ctx, tb, l.Client.CoreV1().RESTClient(), "nodes", "", nodes.ResourceVersion)
	h.watch(ctx, tb, l.Client.CoordinationV1().RESTClient(), "leases", "kube-node-lease", leases.ResourceVersion)
	return h
}

// watch follows the node or its lease. The API server ends each watch after half
// an hour or so, and the next one goes on from there.
func (h *Health) watch(ctx context.Context, tb testing.TB, client cache.Getter, resource, namespace, from string) {
	tb.Helper()
	lw := cache.NewListWatchFromClient(client, resource, namespace, fields.OneTermEqualSelector("metadata.name", h.l.State.Node))
	w, err := toolswatch.NewRetryWatcherWithContext(ctx, from, lw)
	if err != nil {
		tb.Fatal(err)
	}
	h.wait.Go(func() { h.follow(ctx, w) })
}

func (h *Health) follow(ctx context.Context, w watch.Interface) {
	defer w.Stop()
	for e := range w.ResultChan() {
		// A watch that is asked to end may end with an error.
		if ctx.Err() != nil {
			return
		}
		h.see(e)
	}
	if ctx.Err() == nil {
		h.fail("a watch ended early")
	}
}

func (h *Health) see(e watch.Event) {
	switch o := e.Object.(type) {
	case *corev1.Node:
		for _, c := range o.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				h.fail(fmt.Sprintf("the node's Ready is %s: %s", c.Status, c.Message))
			}
		}
	case *coordinationv1.Lease:
		h.mu.Lock()
		defer h.mu.Unlock()
		if o.Spec.RenewTime != nil {
			h.renewed = append(h.renewed, o.Spec.RenewTime.Time)
		}
		if o.Spec.LeaseDurationSeconds != nil {
			h.duration = time.Duration(*o.Spec.LeaseDurationSeconds) * time.Second
		}
	default:
		h.fail(fmt.Sprintf("watch: %s %v", e.Type, e.Object))
	}
}

func (h *Health) fail(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wrong = append(h.wrong, text)
}

// End stops watching. It fails the test if anything was wrong, and returns what.
func (h *Health) End(tb testing.TB) (wrong []string) {
	tb.Helper()
	h.stop()
	h.wait.Wait()
	defer func() {
		for _, text := range wrong {
			tb.Error(text)
		}
	}()
	wrong = h.wrong
	longest := h.longest()
	if longest >= h.duration {
		wrong = append(wrong, fmt.Sprintf("the node's lease was not renewed for %v and is good for %v", longest, h.duration))
	}
	text, err := os.ReadFile(h.log)
	if err != nil {
		tb.Fatal(err)
	}
	if bytes.Contains(text[h.from:], []byte("PLEG is not healthy")) {
		wrong = append(wrong, "the kubelet says that PLEG is not healthy")
	}
	h.Summary = fmt.Sprintf("node Ready in %v: %t; lease renewed %d times, %v apart at most, good for %v", time.Since(h.begin).Round(time.Second),
		len(wrong) == 0, len(h.renewed), longest.Round(time.Second), h.duration)
	tb.Log(h.Summary)
	return wrong
}

// longest returns the longest time for which the lease was not renewed.
func (h *Health) longest() (longest time.Duration) {
	last := h.begin
	for _, at := range append(h.renewed, time.Now()) {
		longest = max(longest, at.Sub(last))
		last = at
	}
	return longest
}
