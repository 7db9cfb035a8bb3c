package cluster

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func ready(p *v1.Pod) {
	p.Status.Phase = v1.PodRunning
	p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: at(8)})
}

func TestHasSettled(t *testing.T) {
	deleted := at(9)
	for name, test := range map[string]struct {
		change func(*v1.Pod)
		want   bool
	}{
		"pending":            {func(*v1.Pod) {}, false},
		"ready":              {ready, true},
		"running, not ready": {func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }, false},
		"succeeded":          {func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }, true},
		"failed":             {func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }, true},
		"ready, deleted":     {func(p *v1.Pod) { ready(p); p.DeletionTimestamp = &deleted }, false},
		"failed, deleted":    {func(p *v1.Pod) { p.Status.Phase = v1.PodFailed; p.DeletionTimestamp = &deleted }, false},
	} {
		if got := hasSettled(with(webPod(), test.change)); got != test.want {
			t.Errorf("%s: settled %v", name, got)
		}
	}
}

func TestChangedAt(t *testing.T) {
	container := func(s v1.ContainerState) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Status.ContainerStatuses = []v1.ContainerStatus{{LastTerminationState: s}} }
	}
	for name, test := range map[string]struct {
		change func(*v1.Pod)
		want   metav1.Time
	}{
		"bound":             {func(*v1.Pod) {}, at(1)},
		"created":           {func(p *v1.Pod) { p.Status = v1.PodStatus{} }, at(0)},
		"ready":             {ready, at(8)},
		"a container began": {container(v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at(20)}}), at(20)},
		"a container ended": {container(v1.ContainerState{Terminated: &v1.ContainerStateTerminated{FinishedAt: at(30)}}), at(30)},
		"a container waits": {container(v1.ContainerState{Waiting: &v1.ContainerStateWaiting{}}), at(1)},
	} {
		if got := changedAt(with(webPod(), test.change)); !got.Equal(test.want.Time) {
			t.Errorf("%s: changed at %v, want %v", name, got, test.want)
		}
	}
}

// TestEventsOfStirredPods: podstep asks only for the events of pods to which something happens, and for each pod by
// itself.
func TestEventsOfStirredPods(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "ADDED", namedPod("starting"))
	f.put(podsPath, "ADDED", with(namedPod("old"), ready))
	f.put(eventsPath, "ADDED", eventOf("elsewhere", "Pulled"))
	f.put(eventsPath, "ADDED", eventOf("old", "Created"))
	f.put(eventsPath, "ADDED", eventOf("starting", "Pulling"))
	h := follow(t, Options{API: f.Config()})
	h.until("reported.event", "reason=Pulling", "from=object")
	f.until(t, "events are watched", func() bool { return f.open == 1 })
	f.put(eventsPath, "ADDED", eventOf("starting", "Failed"))
	h.until("reported.event", "reason=Failed")
	for _, a := range f.RequestsFor(eventsPath) {
		s := a.Query.Get("fieldSelector")
		if s != "involvedObject.kind=Pod,involvedObject.name=starting" && a.Query.Encode() != "limit=1" {
			t.Errorf("asked for %v", a.Query)
		}
	}

	// When something happens to the other pod, its events of the past come.
	f.put(podsPath, "MODIFIED", namedPod("old"))
	h.until("reported.event", "reason=Created", "from=object")
	f.until(t, "the events of both are watched", func() bool { return f.open == 2 })
	if text := strings.Join(h.past, "\n"); strings.Contains(text, "elsewhere") {
		t.Errorf("of another node's pod: %s", text)
	}
}

// TestCalm: a settled pod is watched a little longer, and then no more until something happens to it.
func TestCalm(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "ADDED", namedPod("a"))
	made := &steered{time: noon, ticks: make(chan time.Time)}
	h := followBy(t, made.clock(), "node-1", Options{API: f.Config()})
	f.until(t, "events are watched", func() bool { return f.open == 1 })
	f.put(podsPath, "MODIFIED", with(namedPod("a"), ready))
	h.until("reported.phase", "phase=Running")
	made.ticks <- noon // a share is over, and the pod is not calm yet
	f.put(eventsPath, "ADDED", eventOf("a", "Started"))
	h.until("reported.event", "reason=Started")
	made.add(2 * calm)
	defer made.run()()
	f.until(t, "events are not watched any more", func() bool { return f.open == 0 })

	f.put(eventsPath, "ADDED", eventOf("a", "Unhealthy"))
	f.put(podsPath, "MODIFIED", with(namedPod("a"), func(p *v1.Pod) { ready(p); p.Status.Conditions[1].Status = v1.ConditionFalse }))
	h.until("reported.event", "reason=Unhealthy", "from=object")
	started := 0
	for _, text := range h.past {
		if strings.Contains(text, "reason=Started") {
			started++
		}
	}
	if started != 1 {
		t.Errorf("an event was reported %d times: %v", started, h.past)
	}
}

// steered is a clock that a test steers: it ends waits by ticks.
type steered struct {
	mu    sync.Mutex
	time  time.Time
	ticks chan time.Time
}

func (c *steered) clock() clock {
	return clock{c.now, func(time.Duration) <-chan time.Time { return c.ticks }}
}

// run sends ticks to all waits until stop is called.
func (c *steered) run() (stop func()) {
	ended := make(chan struct{})
	var ran sync.WaitGroup
	ran.Go(func() {
		for {
			select {
			case c.ticks <- noon:
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		ran.Wait()
	}
}

func (c *steered) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.time
}

func (c *steered) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
}

// TestManyStirredPods: the number of watches is bounded, and pods that wait get their turn.
func TestManyStirredPods(t *testing.T) {
	f := newFakeAPI(t)
	const pods = 3 * maxEventWatches
	for i := range pods {
		name := fmt.Sprint("pod-", i)
		f.put(podsPath, "ADDED", namedPod(name))
		f.put(eventsPath, "ADDED", eventOf(name, fmt.Sprintf("Reason%02d", i)))
	}
	made := &steered{time: noon, ticks: make(chan time.Time)}
	h := followBy(t, made.clock(), "node-1", Options{API: f.Config()})
	f.until(t, "as many are watched as may be", func() bool { return f.open == maxEventWatches })
	defer made.run()()
	for i := range pods {
		h.until("reported.event", fmt.Sprintf("reason=Reason%02d", i))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// The server sees the end of a watch a little later than the client.
	if f.most > 2*maxEventWatches {
		t.Errorf("%d watches of events at one time, want at most %d", f.most, maxEventWatches)
	}
}

// TestManySettledPods: while others wait, the events of settled pods are listed, but not watched.
func TestManySettledPods(t *testing.T) {
	f := newFakeAPI(t)
	const pods = 3 * maxEventWatches
	for i := range pods {
		name := fmt.Sprint("pod-", i)
		f.put(podsPath, "ADDED", with(namedPod(name), ready))
		f.put(eventsPath, "ADDED", eventOf(name, fmt.Sprintf("Reason%02d", i)))
	}
	made := &steered{time: noon, ticks: make(chan time.Time)} // this clock never ticks
	h := followBy(t, made.clock(), "node-1", Options{API: f.Config()})
	for i := range pods {
		h.until("reported.event", fmt.Sprintf("reason=Reason%02d", i))
	}
}

// TestManyEvents: if a list would cost the server too much, events are watched without one.
func TestManyEvents(t *testing.T) {
	f := newFakeAPI(t)
	f.many[eventsPath] = maxRead
	f.put(podsPath, "ADDED", namedPod("a"))
	f.put(eventsPath, "ADDED", eventOf("a", "Pulling"))
	h := follow(t, Options{API: f.Config()})
	f.until(t, "events are watched", func() bool { return f.open == 1 })
	f.put(eventsPath, "ADDED", eventOf("a", "Pulled"))
	h.until("reported.event", "reason=Pulled")
	for _, a := range f.RequestsFor(eventsPath) {
		if !a.Watch() && a.Query.Encode() != "limit=1" {
			t.Errorf("listed %v", a.Query)
		}
	}
}

// TestJustNow: an event in the list that is younger than justNow counts as happening now.
func TestJustNow(t *testing.T) {
	f := newFakeAPI(t)
	f.put(podsPath, "ADDED", namedPod("a"))
	f.put(eventsPath, "ADDED", eventOf("a", "Scheduled")) // at second 9
	made := &steered{time: at(10).Time, ticks: make(chan time.Time)}
	h := followBy(t, made.clock(), "node-1", Options{API: f.Config()})
	if s := h.until("reported.event", "reason=Scheduled"); s.Values[len(s.Values)-1] != nil {
		t.Errorf("reported as of before: %s", line(t, s))
	}
}

// TestEventsForbidden: if events may not be read, that is noted once for all pods, and once more when they can be
// again.
func TestEventsForbidden(t *testing.T) {
	f := newFakeAPI(t)
	f.Refuse(eventsPath, http.StatusForbidden)
	f.put(podsPath, "ADDED", namedPod("a"))
	f.put(podsPath, "ADDED", namedPod("b"))
	f.put(eventsPath, "ADDED", eventOf("a", "Pulling"))
	made := &steered{time: noon, ticks: make(chan time.Time)}
	h := followBy(t, made.clock(), "node-1", Options{API: f.Config()})
	h.noted("events of the API server are not shown")
	f.until(t, "both were refused", func() bool { return len(f.Requests()) >= 4 })
	f.Refuse(eventsPath, 0)
	defer made.run()()
	h.noted("events of the API server are shown again")
	h.until("reported.event", "reason=Pulling")
	if n := strings.Count(strings.Join(h.past, "\n"), "are not shown"); n != 1 {
		t.Errorf("noted %d times: %v", n, h.past)
	}
}
