package causes

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// TestFollows: a failing mount follows from what it mounts, whatever the two are called. A
// finding on one container is no consequence of a finding on another.
func TestFollows(t *testing.T) {
	c := newCase(&evidence.Snapshot{Taken: time.Now(), Pod: &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "log"}}}}})
	for _, of := range []struct {
		first, second            string
		firstSubject, itsSubject string
		follows                  bool
	}{
		{"volumes.configMapMissing", "volumes.setUp", "settings", "config", true},
		{"start.createHangs", "start.nameReserved", "app", "app", true},
		{"start.createHangs", "start.nameReserved", "app", "log", false},
		{"source.lookFails", "ready.runtimeContradicts", "", "app", true},
	} {
		got := c.arrange([]Finding{c.found(of.second, of.itsSubject, nil, Certain, c.Now), c.found(of.first, of.firstSubject, nil, Certain, c.Now)})
		if want := map[bool]string{true: of.first}[of.follows]; len(got) != 2 || got[1].Of != want && got[0].Of != want {
			t.Errorf("%s of %s and %s of %s: %+v", of.first, of.firstSubject, of.second, of.itsSubject, got)
		}
	}
}

// TestContradicted: the runtime contradicts itself only where it answers. A failing look of the kubelet comes first, though
// it is less sure.
func TestContradicted(t *testing.T) {
	c := newCase(&evidence.Snapshot{Taken: time.Now(), Pod: &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}})
	got := c.arrange([]Finding{c.found("ready.runtimeContradicts", "app", nil, Certain, c.Now), c.found("source.lookFails", "", nil, Likely, c.Now)})
	if len(got) != 2 || got[0].Cause.ID != "source.lookFails" {
		t.Errorf("they are %+v", got)
	}
}

// TestAnswered: a cause that says that nobody says why is left out where another one says it.
func TestAnswered(t *testing.T) {
	c := newCase(&evidence.Snapshot{Taken: time.Now(), Pod: &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}, {Name: "log"}}}}})
	waits := c.found("volumes.waiting", "", nil, Possible, c.Now)
	if got := c.arrange([]Finding{waits, c.found("volumes.configMapMissing", "settings", nil, Certain, c.Now)}); len(got) != 1 || got[0].Cause.ID != "volumes.configMapMissing" {
		t.Errorf("beside its cause: %+v", got)
	}
	if got := c.arrange([]Finding{waits}); len(got) != 1 {
		t.Errorf("alone: %+v", got)
	}
	loops := c.found("start.crashLoop", "log", nil, Certain, c.Now)
	if got := c.arrange([]Finding{loops, c.found("start.oomKilled", "app", nil, Certain, c.Now)}); len(got) != 2 {
		t.Errorf("of another container: %+v", got)
	}
}

// TestShow: a line of the log is in a finding once, with its newest text. Evidence of other
// kinds is all kept.
func TestShow(t *testing.T) {
	now := time.Now()
	line := func(text string, ago time.Duration) Evidence {
		return Evidence{Source: evidence.Log, Where: words.Same("nestedpendingoperations.go:348"), Text: words.Same(text), At: now.Add(-ago)}
	}
	f := Finding{Evidence: []Evidence{line("retry in 2s", 4*time.Second)}}
	f.join(&Finding{Evidence: []Evidence{line("retry in 4s", 0), line("retry in 1s", 6*time.Second), {Source: evidence.API, Where: words.Same("event FailedMount"), Text: words.Same("a")}}})
	f.join(&Finding{Evidence: []Evidence{{Source: evidence.API, Where: words.Same("event FailedMount"), Text: words.Same("b")}}})
	if len(f.Evidence) != 3 || f.Evidence[0].Text.En != "retry in 4s" {
		t.Errorf("%+v", f.Evidence)
	}
	c := newCase(&evidence.Snapshot{Taken: now})
	one := c.found("volumes.setUp", "c", nil, Likely, now, line("retry in 2s", 4*time.Second), line("retry in 4s", 0))
	if all := c.merge([]Finding{one}); len(all) != 1 || len(all[0].Evidence) != 1 || all[0].Evidence[0].Text.En != "retry in 4s" {
		t.Errorf("of one finding: %+v", all)
	}
}

// TestHookWait: a pod that ends and has a preStop hook waits for it.
func TestHookWait(t *testing.T) {
	now := time.Now()
	grace := int64(60)
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", DeletionGracePeriodSeconds: &grace, DeletionTimestamp: &metav1.Time{Time: now.Add(55 * time.Second)}},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app", Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}}}},
		Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
	r := Explain(&evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Pod: p})
	if r.State != life.Working || r.Whereabouts.Sentence(words.English) != "The kubelet runs the preStop hook of container app before it sends SIGTERM." {
		t.Errorf("%+v", r)
	}
}

// TestMissedOrder: what was not seen is in one order, without what every pod has.
func TestMissedOrder(t *testing.T) {
	got := Missed([]evidence.Unseen{
		{Source: evidence.Port, What: "b", Why: evidence.Forbidden}, {Source: evidence.API, What: "z", Why: evidence.Late},
		{Source: evidence.API, What: "configmaps/kube-root-ca.crt", Why: evidence.Forbidden}, {Source: evidence.API, What: "a", Why: evidence.Late},
	}, true)
	var what []string
	for _, u := range got {
		what = append(what, u.What)
	}
	if !slices.Equal(what, []string{"a", "z", "b"}) {
		t.Errorf("%v", what)
	}
}

// TestFailure: of a container that waits for its next try, the message is why the last one failed.
func TestFailure(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		ended  corev1.ContainerStateTerminated
		events []evidence.Event
		want   string
	}{
		"the runtime said it": {corev1.ContainerStateTerminated{Reason: "StartError", Message: "no such file"}, nil, "no such file"},
		"an event says it": {corev1.ContainerStateTerminated{Reason: "Error", Message: "its own words"},
			[]evidence.Event{{Kind: "Pod", Name: "web", Reason: "Failed", Message: "Error: container init was OOM-killed", FieldPath: "spec.containers{app}", Last: now}}, "container init was OOM-killed"},
		"nobody": {corev1.ContainerStateTerminated{Reason: "Error", Message: "its own words"}, nil, "back-off 5m0s restarting failed container=app"},
	} {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
		k := corev1.ContainerStatus{Name: "app", LastTerminationState: corev1.ContainerState{Terminated: &c.ended}}
		of := newCase(&evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Pod: p, Cluster: evidence.Cluster{Events: c.events}})
		if got := of.containerArgs(container{k, "app"}, "CrashLoopBackOff", "back-off 5m0s restarting failed container=app")["message"]; got != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestMissed: a source that does not exist is worth a word only where a report leaves something open.
func TestMissed(t *testing.T) {
	unseen := []evidence.Unseen{{Source: evidence.Agent, Why: evidence.Absent}, {Source: evidence.Port, Why: evidence.Forbidden}}
	for _, c := range []struct {
		r    Report
		want int
	}{
		{Report{State: life.Idle}, 1},
		{Report{unknown: true}, 2},
		{Report{State: life.Stuck, Findings: []Finding{{Confidence: Certain}}}, 1},
		{Report{State: life.Stuck, Findings: []Finding{{Confidence: Likely}}}, 2},
	} {
		if got := Missed(unseen, c.r.Open()); len(got) != c.want {
			t.Errorf("%s, %v: %v", c.r.State, c.r.Findings, got)
		}
	}
}

// TestFlapsFirst: init containers that are started again because their sandbox is made anew are not why the pod is stuck.
func TestFlapsFirst(t *testing.T) {
	c := newCase(&evidence.Snapshot{Taken: time.Now(), Pod: &corev1.Pod{Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "first"}}}}})
	got := c.arrange([]Finding{c.found("init.waitsFor", "first", nil, Certain, c.Now), c.found("sandbox.flaps", "", nil, Likely, c.Now)})
	if len(got) == 0 || got[0].Cause.ID != "sandbox.flaps" {
		t.Errorf("%+v", got)
	}
}
