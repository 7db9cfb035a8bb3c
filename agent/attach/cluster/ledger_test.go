package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/probes"
)

// book is a ledger with a clock that stands still, and the reports that it gave.
type book struct {
	*ledger
	t       *testing.T
	reports []Report
}

func newBook(t *testing.T) *book {
	b := &book{t: t}
	b.ledger = newLedger(Options{
		Report: func(s Report) { b.reports = append(b.reports, s) },
		Note:   func(text string, err error) { t.Errorf("noted %q, %v", text, err) },
	})
	b.now = func() time.Time { return observedAt }
	b.await(0)
	return b
}

// expect compares the reports since its last call.
func (b *book) expect(want ...string) {
	b.t.Helper()
	compare(b.t, b.reports, want...)
	b.reports = nil
}

// steps compares only the names of the reported steps.
func (b *book) steps(want string) {
	b.t.Helper()
	var got []string
	for _, s := range b.reports {
		got = append(got, s.Step)
	}
	if strings.Join(got, " ") != want {
		b.t.Errorf("published %v, want %s", got, want)
	}
	b.reports = nil
}

// runningPod returns a later state of webPod.
func runningPod() *v1.Pod {
	return with(webPod(), func(p *v1.Pod) { p.ResourceVersion, p.Status.Phase = "11", v1.PodRunning })
}

func kubeletPod() *v1.Pod {
	return with(webPod(), func(p *v1.Pod) {
		p.ResourceVersion = ""
		p.Annotations = map[string]string{probes.AnnotationSource: "api", probes.AnnotationSeen: noon.Add(3 * time.Second).Format(time.RFC3339Nano)}
	})
}

func TestLifeOfAPod(t *testing.T) {
	b := newBook(t)
	b.connected(true)
	b.object(webPod(), live)
	b.steps("cluster.bound reported.condition reported.phase")
	b.object(webPod(), live)
	b.steps("")
	b.list([]*v1.Pod{kubeletPod()}, false)
	b.expect("cluster.kubelet known=true source=api since=+3")
	b.object(runningPod(), live)
	b.expect("reported.phase phase=Running")
	b.gone("u1", with(runningPod(), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }), live)
	b.expect("reported.phase phase=Succeeded", "cluster.gone phase=Succeeded")
	// The kubelet's list is older than the end that was reported.
	b.list([]*v1.Pod{with(kubeletPod(), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning })}, false)
	b.steps("")
	b.list(nil, false)
	b.expect("cluster.kubelet known=false")
	if len(b.pods) != 0 {
		t.Errorf("%d pods are remembered", len(b.pods))
	}
}

// TestSameNameAgain: a pod of the same name has another uid, and a story of its own.
func TestSameNameAgain(t *testing.T) {
	b := newBook(t)
	b.object(webPod(), live)
	b.gone("u1", nil, live)
	b.reports = nil
	b.object(with(webPod(), func(p *v1.Pod) { p.UID = "u2" }), live)
	b.steps("cluster.bound reported.condition reported.phase")
}

// TestStaticPod: a static pod and its mirror at the API server are one pod.
func TestStaticPod(t *testing.T) {
	b := newBook(t)
	b.connected(true)
	static := with(kubeletPod(), func(p *v1.Pod) { p.UID = "hash"; p.Annotations[probes.AnnotationSource] = "file" })
	b.list([]*v1.Pod{static}, false)
	b.expect("cluster.kubelet known=true source=file since=+3",
		"reported.condition type=PodScheduled status=True since=+1 from=kubelet", "reported.phase phase=Pending from=kubelet")
	mirror := with(webPod(), func(p *v1.Pod) { p.UID = "m1"; p.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "hash"} })
	b.object(mirror, live)
	b.expect("cluster.bound node=node-1 generation=1 containers=[init app]")
	b.event(happening{uid: "e1", about: "m1", reason: "Pulled", count: 1}, "node-1")
	b.expect("reported.event reason=Pulled count=1")
	b.gone("m1", nil, fromObject)
	b.expect("cluster.gone phase=Pending from=object")
	b.list(nil, false)
	b.steps("cluster.kubelet")
	if len(b.pods)+len(b.mirrors) != 0 {
		t.Errorf("%d pods and %d mirrors are remembered", len(b.pods), len(b.mirrors))
	}
}

// TestWithoutAPI: the kubelet's list counts while the API server does not answer, and what the API server had
// reported before is not reported again.
func TestWithoutAPI(t *testing.T) {
	b := newBook(t)
	b.connected(true)
	b.object(webPod(), live)
	b.connected(false)
	b.reports = nil
	b.list([]*v1.Pod{with(kubeletPod(), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning })}, false)
	b.expect("cluster.kubelet known=true source=api since=+3", "reported.phase phase=Running from=kubelet")
	b.connected(true)
	b.object(with(webPod(), func(p *v1.Pod) { p.ResourceVersion = "12" }), fromObject)
	b.steps("") // the kubelet's list does not have yet that the pod runs
	b.object(with(runningPod(), func(p *v1.Pod) { p.ResourceVersion = "13" }), live)
	b.steps("")
	b.object(with(runningPod(), func(p *v1.Pod) { p.ResourceVersion, p.Status.Phase = "14", v1.PodFailed }), live)
	b.steps("reported.phase")
}

// TestAbsence: a list after an absence shows which pods are gone.
func TestAbsence(t *testing.T) {
	b := newBook(t)
	b.object(webPod(), live)
	b.object(with(webPod(), func(p *v1.Pod) { p.UID, p.Name = "u2", "db" }), live)
	b.reports = nil
	b.keepOnly(map[types.UID]bool{"u2": true})
	b.expect("cluster.gone phase=Pending from=object")
	if b.pods["u1"] != nil || b.pods["u2"] == nil {
		t.Errorf("pods %v are remembered", b.pods)
	}
}

func TestEvents(t *testing.T) {
	b := newBook(t)
	b.object(webPod(), live)
	b.reports = nil
	e := func(change func(*v1.Event)) happening {
		ev := &v1.Event{
			ObjectMeta: metav1.ObjectMeta{UID: "e1"}, Type: "Normal", Reason: "Pulled", Message: "is there", Count: 1,
			Source:         v1.EventSource{Component: "kubelet", Host: "node-1"},
			InvolvedObject: v1.ObjectReference{Kind: "Pod", UID: "u1", FieldPath: "spec.containers{app}"},
			LastTimestamp:  at(7),
		}
		change(ev)
		return newHappening(ev, fromObject)
	}
	same := e(func(*v1.Event) {})
	for range 2 {
		b.event(same, "node-1")
	}
	b.expect("reported.event type=Normal reason=Pulled message=is there count=1 reporter=kubelet object=spec.containers{app} since=+7 from=object @7")
	b.event(e(func(e *v1.Event) { e.Count, e.LastTimestamp = 2, at(9) }), "node-1")
	b.expect("reported.event type=Normal reason=Pulled message=is there count=2 reporter=kubelet object=spec.containers{app} since=+9 from=object @9")
	b.event(e(func(e *v1.Event) {
		e.UID, e.Type, e.Reason, e.Message, e.Count, e.LastTimestamp = "e2", "Warning", "Failed", "no", 0, metav1.Time{}
		e.Source, e.InvolvedObject.FieldPath, e.ReportingController = v1.EventSource{}, "", "scheduler"
		e.EventTime = metav1.NewMicroTime(noon.Add(4 * time.Second))
		e.Series = &v1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(noon.Add(5 * time.Second))}
	}), "node-1")
	b.expect("reported.event type=Warning reason=Failed message=no count=3 reporter=scheduler since=+5 from=object !warning (Failed): no @5")
}

// TestEarlyEvents: an event may come before its pod; the event of another node's pod is never reported.
func TestEarlyEvents(t *testing.T) {
	b := newBook(t)
	b.event(happening{uid: "e1", about: "u1", reason: "Scheduled", count: 1}, "node-1")
	b.event(happening{uid: "e2", about: "u1", reason: "Pulled", count: 1, node: "node-1"}, "node-1")
	b.event(happening{uid: "e3", about: "u9", reason: "Pulled", count: 1, node: "node-2"}, "node-1")
	b.steps("")
	if len(b.early) != 2 {
		t.Errorf("%d events wait", len(b.early))
	}
	b.object(webPod(), live)
	b.steps("cluster.bound reported.condition reported.phase reported.event reported.event")
	for i := range 10 * maxEarly {
		b.event(happening{uid: types.UID(fmt.Sprint(i)), about: "nobody", count: 1}, "node-1")
	}
	if len(b.early) > maxEarly {
		t.Errorf("%d events wait", len(b.early))
	}
}

// TestPastInOrder: the reports of all sources about the past become one story, in order.
func TestPastInOrder(t *testing.T) {
	b := newBook(t)
	b.begun = false
	b.await(2)
	b.object(webPod(), fromObject)
	b.ready()
	b.steps("")
	b.event(happening{uid: "e1", about: "u1", reason: "Scheduled", count: 1, from: fromObject, stated: at(1).Add(-time.Millisecond)}, "node-1")
	b.ready()
	b.steps("reported.phase reported.event cluster.bound reported.condition")
	b.givePast() // the time is up
	b.steps("")
	b.object(runningPod(), live)
	b.steps("reported.phase")
}

func TestWithoutOutput(t *testing.T) {
	for message, want := range map[string]string{
		"Readiness probe failed: cat: /secret: key=hunter2":                            "Readiness probe failed",
		"Readiness probe failed: HTTP probe failed with statuscode: 500":               "Readiness probe failed: HTTP probe failed with statuscode: 500",
		"Liveness probe failed: dial tcp 10.0.0.1:80: connection refused":              "Liveness probe failed: dial tcp 10.0.0.1:80: connection refused",
		"Liveness probe errored and resulted in unknown state":                         "Liveness probe errored and resulted in unknown state",
		"Startup probe failed: Get \"http://10.0.0.1:80/\": context deadline exceeded": "Startup probe failed: Get \"http://10.0.0.1:80/\": context deadline exceeded",
	} {
		if got := withoutOutput("Unhealthy", message); got != want {
			t.Errorf("%q became %q, want %q", message, got, want)
		}
	}
	for _, c := range []struct{ reason, message, want string }{
		{"Unhealthy", "Liveness probe failed: hunter2", "Liveness probe failed"},
		{"Unhealthy", "Liveness probe failed: command hunter2", "Liveness probe failed"},
		{"ProbeWarning", "Liveness probe warning: Probe terminated redirects, Response body: hunter2", "Liveness probe warning: Probe terminated redirects"},
		{"ProbeWarning", "in other words: hunter2", "in other words"},
		{"Other", "Liveness probe failed: hunter2", "Liveness probe failed"},
		{"Other", "in other words: x", "in other words: x"},
	} {
		if h := newHappening(&v1.Event{Reason: c.reason, Message: c.message}, live); h.message != c.want {
			t.Errorf("event %s %q says %q, want %q", c.reason, c.message, h.message, c.want)
		}
	}
}
