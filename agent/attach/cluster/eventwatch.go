package cluster

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/kubeapi"
)

const (
	// maxEventWatches bounds the pods whose events are watched at one time.
	maxEventWatches = 8
	// calm is how long a pod that has settled is watched after its last change, if no
	// other waits.
	calm = 2 * time.Minute
	// share is how long a pod is watched at least, before it makes room for others
	// that wait.
	share = 30 * time.Second
	// eventsLive is how long an API server keeps events, unless it is set otherwise.
	eventsLive = time.Hour
	// eventsLast is how long a watch of events lasts at least. It has no bookmarks to
	// go on from while other pods' events are passed over, so it lasts long.
	eventsLast = 30 * time.Minute
	// maxRead bounds how many events the API server may have to read of its storage to
	// list those of one pod.
	maxRead = 5000
	// justNow is how long ago an event is taken for one that happens.
	justNow = 2 * time.Second
)

// eventWatch follows the events of the node's pods, of each pod by itself and only
// while something happens to it. ADR 18 has the reasons.
type eventWatch struct {
	api    *kubeapi.Client
	ledger *ledger
	note   func(text string, err error)
	node   string
	clock  clock

	places  chan struct{} // one for each pod that is watched
	waiting atomic.Int32  // how many pods have no place
	all     sync.WaitGroup

	mu      sync.Mutex
	pods    map[types.NamespacedName]*stirred
	failing map[string]bool // namespaces whose events cannot be had
}

// stirred is a pod to which something happens. A static pod and its mirror are one, since
// they share a name, and events name either of them.
type stirred struct {
	name  types.NamespacedName
	first chan struct{} // closed when its first list is whole or cannot be had

	// The rest is under the mutex of eventWatch.
	settled bool      // nothing is left to happen
	last    time.Time // when it changed
	past    bool      // what happened before is known, or may not be read
}

func newEventWatch(c *Cluster) *eventWatch {
	return &eventWatch{
		api: c.api, ledger: c.ledger, note: c.o.Note, node: c.o.Node, clock: c.clock, places: make(chan struct{}, maxEventWatches),
		pods: map[types.NamespacedName]*stirred{}, failing: map[string]bool{},
	}
}

// stir takes a pod as the API server has it, or had it if it is gone, and has its events
// watched until ctx ends or the pod is calm.
func (w *eventWatch) stir(ctx context.Context, p *v1.Pod, from source, gone bool) {
	now := w.clock.now()
	last := now
	if from == fromObject {
		last = changedAt(p)
	}
	settled := gone || hasSettled(p)
	name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.pods[name]
	if s != nil {
		s.settled, s.last = settled, later(s.last, last)
		return
	}
	if settled && now.Sub(last) > eventsLive {
		return // there are no events of it any more
	}
	s = &stirred{name: name, first: make(chan struct{}), settled: settled, last: last}
	w.pods[name] = s
	w.all.Go(func() { w.follow(ctx, s) })
}

// started calls done when the past of the pods that are stirred by now is known, as far
// as it can be.
func (w *eventWatch) started(ctx context.Context, done func()) {
	w.mu.Lock()
	var firsts []chan struct{}
	for _, s := range w.pods {
		firsts = append(firsts, s.first)
	}
	w.mu.Unlock()
	w.all.Go(func() {
		defer done()
		for _, first := range firsts {
			select {
			case <-first:
			case <-ctx.Done():
			}
		}
	})
}

// wait waits for everything that stir began.
func (w *eventWatch) wait() { w.all.Wait() }

// follow watches a pod whenever there is a place, until it is calm.
func (w *eventWatch) follow(ctx context.Context, s *stirred) {
	first := sync.OnceFunc(func() { close(s.first) })
	defer first()
	for w.take(ctx) {
		w.turn(ctx, s, first)
		<-w.places
		if w.forget(s) {
			return
		}
	}
}

// take waits for a place; it is false when ctx ends. Who waits longest is next.
func (w *eventWatch) take(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case w.places <- struct{}{}:
		return true
	default:
	}
	w.waiting.Add(1)
	defer w.waiting.Add(-1)
	select {
	case w.places <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// turn watches a pod until it is over with it, or the pod has had its share and others
// wait.
func (w *eventWatch) turn(ctx context.Context, s *stirred, first func()) {
	ctx, cancel := context.WithCancel(ctx)
	began := make(chan struct{})
	f := w.follower(s, func() {
		first()
		close(began)
	})
	var ran sync.WaitGroup
	ran.Go(func() { f.run(ctx) })
	defer ran.Wait()
	defer cancel()
	<-began
	for ctx.Err() == nil && !w.isOver(s) {
		w.clock.sleep(ctx, share)
		if w.waiting.Load() > 0 {
			return
		}
	}
}

// isOver reports whether a pod need not be watched any more.
func (w *eventWatch) isOver(s *stirred) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over(s)
}

// over is isOver: the pod's past is known, it has settled, and it has been calm for long
// or others wait. The caller holds mu.
func (w *eventWatch) over(s *stirred) bool {
	return s.past && s.settled && (w.waiting.Load() > 0 || w.clock.now().Sub(s.last) > calm)
}

// forget forgets a pod if it need not be watched. Its next change is a new beginning.
func (w *eventWatch) forget(s *stirred) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over(s) {
		return false
	}
	delete(w.pods, s.name)
	return true
}

// follower follows the events of one pod. done is called once, when those of the past
// were given or cannot be had.
func (w *eventWatch) follower(s *stirred, done func()) *follower[v1.Event] {
	path := "/api/v1/namespaces/" + s.name.Namespace + "/events"
	query := url.Values{"fieldSelector": {"involvedObject.kind=Pod,involvedObject.name=" + s.name.Name}}
	return &follower[v1.Event]{
		clock: w.clock, pace: newPace(), api: w.api, path: path, query: query, lasts: eventsLast,
		list:     func(ctx context.Context, _ string) (string, error) { return w.list(ctx, path, query) },
		complete: func() { w.knowsPast(s) },
		changed: func(kind string, e *v1.Event) {
			if kind != "DELETED" {
				w.ledger.event(newHappening(e, live), w.node)
			}
		},
		up: func(bool) {}, done: done,
		notes: func(err error) {
			if refused(err) {
				w.knowsPast(s)
			}
			w.notes(s.name.Namespace, err)
		},
	}
}

// list gives the events of the past. API servers keep events in no cache and in no
// index, so they read all of the namespace's: where these are too many, the past stays
// unknown.
func (w *eventWatch) list(ctx context.Context, path string, query url.Values) (version string, err error) {
	n, version, err := kubeapi.Count(ctx, w.api, path)
	if err != nil || n == 0 || n > maxRead {
		return version, err
	}
	return kubeapi.List(ctx, w.api, path, query, func(e *v1.Event) {
		h := newHappening(e, fromObject)
		if w.clock.now().Sub(h.stated) < justNow {
			// The pod's watch was the quicker one. The event states whole seconds, which
			// would put it before what led to it.
			h.from = live
		}
		w.ledger.event(h, w.node)
	})
}

func (w *eventWatch) knowsPast(s *stirred) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.past = true
}

// notes notes when events cannot be had, and when all can again.
func (w *eventWatch) notes(namespace string, err error) {
	w.mu.Lock()
	was := len(w.failing)
	if err != nil {
		w.failing[namespace] = true
	} else {
		delete(w.failing, namespace)
	}
	is := len(w.failing)
	w.mu.Unlock()
	switch {
	case was == 0 && is > 0:
		w.note("events of the API server are not shown", explain(err))
	case was > 0 && is == 0:
		w.note("events of the API server are shown again", nil)
	}
}

// hasSettled reports whether a pod is where it stays if nothing happens to it.
func hasSettled(p *v1.Pod) bool {
	switch p.Status.Phase {
	case v1.PodSucceeded, v1.PodFailed:
		return p.DeletionTimestamp == nil
	case v1.PodRunning:
		return p.DeletionTimestamp == nil && isReady(p)
	}
	return false
}

func isReady(p *v1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// changedAt is when a pod changed last, by the times that it states.
func changedAt(p *v1.Pod) time.Time {
	last := p.CreationTimestamp.Time
	for _, c := range p.Status.Conditions {
		last = later(last, c.LastTransitionTime.Time)
	}
	for _, all := range [][]v1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses} {
		for i := range all {
			for _, state := range []v1.ContainerState{all[i].State, all[i].LastTerminationState} {
				last = later(last, stateAt(&state))
			}
		}
	}
	return last
}

// stateAt is when a container's state began.
func stateAt(s *v1.ContainerState) time.Time {
	switch {
	case s.Running != nil:
		return s.Running.StartedAt.Time
	case s.Terminated != nil:
		return s.Terminated.FinishedAt.Time
	}
	return time.Time{}
}
