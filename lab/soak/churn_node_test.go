//go:build node

package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/agentpb"
)

const (
	// patience is how long a pod may take to reach its expected state, from when it was last held or failed.
	patience = 5 * time.Minute
	// faultPatience is the patience for a pod with injected faults: the kubelet backs off, for volumes up to two
	// minutes.
	faultPatience = 8 * time.Minute
	// longestHold is longer than any hold that a client asks for.
	longestHold = 5*time.Minute + slack
	longestLife = 20 * time.Second
)

// slot creates and deletes one pod after the other.
func (s *soak) slot(phase string, n int, over <-chan struct{}) {
	r := s.random("slot-"+phase, n)
	for i := 0; ; i++ {
		select {
		case <-over:
			return
		case <-s.ctx.Done():
			return
		default:
		}
		k := chooseKind(r)
		s.live(k, fmt.Sprintf("%s-%s-%d-%d", k.name, phase, n, i), i == 0, r, over)
	}
}

// live creates one pod and deletes it.
func (s *soak) live(k *kind, name string, first bool, r *rand.Rand, over <-chan struct{}) {
	p, faulty := k.newPod(name, r)
	rec := &record{name: name, kind: k.name, want: k.want, faulty: faulty, first: first}
	short, rest, how := r.IntN(12) == 0, rand64(r, longestLife), r.IntN(8)
	if k.static {
		rec.name += "-" + s.l.State.Node // that of its mirror
		short = false                    // or the test would not see that it is gone
	}
	s.pods.add(rec)
	defer s.pods.remove(rec)
	if err := s.create(k, p); err != nil {
		s.errorf("create pod %s: %v", name, err)
		return
	}
	s.counts.add("pods created", 1)
	switch {
	case short: // it is deleted while it starts
		s.rest(rest/8, over)
	case s.until(rec, "come to be "+string(k.want), func() bool { return rec.reached > 0 }):
		s.counts.add("pods that came to be "+string(k.want), 1)
		s.rest(rest, over)
	}
	s.pods.change(rec, func() { rec.doomed, rec.touched = true, time.Now() })
	if err := s.delete(k, p, how); err != nil {
		s.errorf("delete pod %s: %v", name, err)
		return
	}
	if s.until(rec, "gone", func() bool { return rec.gone }) {
		s.counts.add("pods deleted", 1)
	}
}

func rand64(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}

func (s *soak) rest(d time.Duration, over <-chan struct{}) {
	select {
	case <-time.After(d):
	case <-over:
	case <-s.ctx.Done():
	}
}

// until waits until is reports true of a pod. The time during which the pod is held does not count.
func (s *soak) until(rec *record, what string, is func() bool) bool {
	look := time.NewTicker(5 * time.Second)
	defer look.Stop()
	for {
		if s.pods.check(is) {
			return true
		}
		late := s.pods.check(func() bool {
			most := patience
			if rec.faults > 0 {
				most = faultPatience
			}
			if rec.standing > 0 {
				most += longestHold
			}
			return time.Since(rec.touched) > most
		})
		if late {
			s.counts.add("pods that are late", 1)
			s.errorf("pod %s has not %s: %s", rec.name, what, s.describe(rec))
			return false
		}
		select {
		case <-rec.changed:
		case <-look.C:
		case <-s.ctx.Done():
			return false
		}
	}
}

// describe returns what is known of a pod that did not do what it should.
func (s *soak) describe(rec *record) string {
	var b strings.Builder
	_ = s.pods.check(func() bool {
		status, _ := json.Marshal(rec.status)
		fmt.Fprintf(&b, "created %v ago, touched %v ago, %d holds (%d stand), %d faults, status %s",
			time.Since(rec.created).Round(time.Second), time.Since(rec.touched).Round(time.Second), rec.holds, rec.standing, rec.faults, status)
		return true
	})
	sel := &agentpb.PodSelector{Name: rec.name}
	if r, err := s.agent.Pods(s.ctx, &agentpb.PodsRequest{Pods: sel}); err == nil {
		fmt.Fprintf(&b, "\nagent: %v", r.Pods)
	}
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	w, err := s.agent.Watch(ctx, &agentpb.WatchRequest{Pods: sel, OnlyHistory: true})
	if err != nil {
		return b.String()
	}
	var lines []string
	for {
		batch, err := w.Next()
		if err != nil {
			break
		}
		for _, e := range batch.Events {
			lines = append(lines, fmt.Sprintf("\t%s %s of %s on %s, sync %d: %s %v", e.Time.Format("15:04:05.000"), e.Kind, e.Step, e.Goroutine, e.Sync, e.Error, e.Fields))
		}
	}
	for _, line := range lines[max(0, len(lines)-40):] {
		b.WriteString("\n" + line[:min(len(line), 400)])
	}
	return b.String()
}

func (s *soak) create(k *kind, p *corev1.Pod) error {
	if !k.static {
		_, err := s.l.Client.CoreV1().Pods("default").Create(s.ctx, p, metav1.CreateOptions{})
		return err
	}
	p.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	text, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	// The file is moved into place, because the kubelet reads a file as soon as it is there.
	part := filepath.Join(s.dir, p.Name)
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(part, s.manifest(p)); err == nil {
		return nil
	}
	_ = os.Remove(part)
	return os.WriteFile(s.manifest(p), text, 0o600)
}

func (s *soak) manifest(p *corev1.Pod) string {
	return filepath.Join(s.l.Dir, "manifests", p.Name+".yaml")
}

// delete deletes a pod in one of eight ways.
func (s *soak) delete(k *kind, p *corev1.Pod, how int) error {
	if k.static {
		return os.Remove(s.manifest(p))
	}
	pods, options := s.l.Client.CoreV1().Pods("default"), metav1.DeleteOptions{}
	grace := func(n int64) { options.GracePeriodSeconds = &n }
	switch how {
	case 0:
		grace(0)
	case 1:
		grace(1)
	case 2:
		grace(5)
	case 3:
		s.counts.add("pods evicted", 1)
		return pods.EvictV1(s.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}})
	case 4:
		grace(5)
		s.counts.add("pods evicted", 1)
		return pods.EvictV1(s.ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, DeleteOptions: &options})
	}
	return pods.Delete(s.ctx, p.Name, options)
}

// watch follows the pods in the API. It returns a function that ends this.
func (s *soak) watch() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	pods, err := s.l.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	client := s.l.Client.CoreV1().RESTClient()
	lw := cache.NewFilteredListWatchFromClient(client, "pods", "default", func(*metav1.ListOptions) {})
	w, err := toolswatch.NewRetryWatcherWithContext(ctx, pods.ResourceVersion, lw)
	if err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			s.saw(e)
		}
		if ctx.Err() == nil {
			s.errorf("the watch on pods ended early")
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (s *soak) saw(e watch.Event) {
	p, ok := e.Object.(*corev1.Pod)
	if !ok {
		if e.Type == watch.Error && s.ctx.Err() == nil {
			s.errorf("watch pods: %v", e.Object)
		}
		return
	}
	rec := s.pods.get(p.Name)
	if rec == nil {
		s.errorf("pod %s is nobody's", p.Name)
		return
	}
	if e.Type == watch.Deleted {
		if s.pods.check(func() bool { return !rec.doomed }) {
			s.errorf("pod %s is gone and nobody deleted it", p.Name)
		}
		s.pods.change(rec, func() { rec.gone = true })
		return
	}
	for _, text := range s.pods.see(rec, p) {
		s.counts.add("pods not as expected", 1)
		status, _ := json.Marshal(p.Status)
		s.errorf("pod %s, of which nobody asked that: %s: %s", p.Name, text, status)
	}
}
