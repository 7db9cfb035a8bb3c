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
	// calm is how long a settled pod is watched after its last change, if no other pod waits.
	calm = 2 * time.Minute
	// share is how long a pod is watched at least before it makes room for a pod that waits.
	share = 30 * time.Second
	// eventsLive is how long an API server keeps events by default.
	eventsLive = time.Hour
	// eventsLast is how long a watch of events lasts at least. It lasts long, since the server sends no bookmarks
	// from which a next watch could go on while other pods have events.
	eventsLast = 30 * time.Minute
	// maxRead bounds how many events the API server reads from its storage to list those of one pod.
	maxRead = 5000
	// justNow is the age up to which an event in a list counts as happening now.
	justNow = 2 * time.Second
)

// eventWatch follows the events of the node's pods, each pod by itself, and only while something happens to it. ADR
// 18 has the reasons.
type eventWatch struct {
	api    *kubeapi.Client
	ledger *ledger
	note   func(text string, err error)
	node   string
	clock  clock

	places  chan struct{} // one for each pod that is watched
	waiting atomic.Int32  // how many pods wait for a place
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
	settled bool      // nothing more is expected to happen
	last    time.Time // when it changed
	past    bool      // the events of the past are known, or may not be read
}

func newEventWatch(c *Cluster) *eventWatch {
	return &eventWatch{
		api: c.api, ledger: c.ledger, note: c.o.Note, node: c.o.Node, clock: c.clock, places: make(chan struct{}, maxEventWatches),
		pods: map[types.NamespacedName]*stirred{}, failing: map[string]bool{},
	}
}

// stir handles a change of a pod: it watches the pod's events until ctx ends or the pod is calm. p is the last object
// if the pod is gone.
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

// started calls done when the past events of the pods that are stirred by now are known, as far as they can be.
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
	for w.takePlace(ctx) {
		w.turn(ctx, s, first)
		<-w.places
		if w.forgetIfOver(s) {
			return
		}
	}
}

// takePlace waits for a place. It returns false when ctx ends. The pod that has waited longest is next.
func (w *eventWatch) takePlace(ctx context.Context) bool {
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

// turn watches a pod until the pod need not be watched any more, or until it has had its share and others wait.
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
	return w.isOverLocked(s)
}

// isOverLocked is isOver for a caller that holds mu: the pod's past is known, the pod has settled, and it has been
// calm for long or others wait.
func (w *eventWatch) isOverLocked(s *stirred) bool {
	return s.past && s.settled && (w.waiting.Load() > 0 || w.clock.now().Sub(s.last) > calm)
}

// forgetIfOver forgets a pod that need not be watched any more, and reports whether it did. The pod's next change
// begins a new watch.
func (w *eventWatch) forgetIfOver(s *stirred) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.isOverLocked(s) {
		return false
	}
	delete(w.pods, s.name)
	return true
}

// follower makes what follows the events of one pod. It calls done once, when the events of the past were given or
// cannot be had.
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

// list gives the events of the past to the ledger. API servers keep events in no cache and no index, and read all of
// a namespace's. Where these are too many, the past stays unknown.
func (w *eventWatch) list(ctx context.Context, path string, query url.Values) (version string, err error) {
	n, version, err := kubeapi.Count(ctx, w.api, path)
	if err != nil || n == 0 || n > maxRead {
		return version, err
	}
	return kubeapi.List(ctx, w.api, path, query, func(e *v1.Event) {
		h := newHappening(e, fromObject)
		if w.clock.now().Sub(h.stated) < justNow {
			// The watch of pods was quicker. The event's own time, in whole seconds, would put it before its cause.
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

// notes notes when events cannot be read, and when those of all namespaces can again.
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

// hasSettled reports whether a pod stays as it is until something new happens to it.
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

// changedAt returns when a pod changed last, by the times that it states.
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

// stateAt returns when a container's state began; zero if the state does not say so.
func stateAt(s *v1.ContainerState) time.Time {
	switch {
	case s.Running != nil:
		return s.Running.StartedAt.Time
	case s.Terminated != nil:
		return s.Terminated.FinishedAt.Time
	}
	return time.Time{}
}
