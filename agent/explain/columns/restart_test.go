package columns

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// startedAgo lets the kubelet of a snapshot have been started some time ago.
func startedAgo(s *evidence.Snapshot, d time.Duration) *evidence.Snapshot {
	s.Kubelet.Metrics = map[string]float64{"process_start_time_seconds": float64(ago(d).UnixMilli()) / 1000}
	return s
}

// again is a pod whose container ended, and was started again, after the kubelet was started ten minutes ago.
func again() *evidence.Snapshot {
	s := startedAgo(well(), 10*time.Minute)
	st := &s.Pod.Status
	st.Conditions[0].LastTransitionTime = metaAgo(5 * time.Minute)
	c := &st.ContainerStatuses[0]
	c.State.Running.StartedAt = metaAgo(6 * time.Minute)
	c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}
	s.Runtime.Sandboxes[0].Created, s.Runtime.Sandboxes[0].Attempt = ago(7*time.Minute), 1
	s.Pod.UID = "u1"
	of := func(kind, reason string, first time.Duration, count int) evidence.Event {
		return evidence.Event{UID: "u1", Component: "kubelet", Type: kind, Reason: reason, First: ago(first), Count: count}
	}
	s.Cluster.Events = []evidence.Event{
		of(corev1.EventTypeWarning, "FailedMount", 9*time.Minute, 3), of(corev1.EventTypeWarning, "BackOff", 30*time.Minute, 9),
		of(corev1.EventTypeNormal, "Started", 6*time.Minute, 1), of(corev1.EventTypeNormal, "Killing", 8*time.Minute, 1),
		{UID: "other", Component: "kubelet", Type: corev1.EventTypeWarning, Reason: "Failed", First: ago(time.Minute)},
	}
	return s
}

func TestAfterRestart(t *testing.T) {
	r := AfterRestart(again())
	if r == nil {
		t.Fatal("nothing has changed")
	}
	var got []string
	for i := range r.Changes {
		got = append(got, r.Changes[i].Name(words.English)+": "+r.In(&r.Changes[i], words.English))
	}
	want := []string{
		"event: FailedMount x3, 9m", "event: Killing, 8m", "sandbox: another one, attempt 1, 7m",
		"app state: running, after it ended with 137 (OOMKilled), 6m", "Ready: True, 5m",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if h := r.Heading(words.English); h != "Changed since the kubelet was started 10m ago:" {
		t.Error(h)
	}
}

// TestNoRestart: nothing is said of a kubelet that was started long ago or at an unknown time, of a younger pod, and of one of which
// nothing has changed.
func TestNoRestart(t *testing.T) {
	for name, change := range map[string]func(*evidence.Snapshot){
		"long ago":     func(s *evidence.Snapshot) { startedAgo(s, 2*time.Hour) },
		"unknown":      func(s *evidence.Snapshot) { s.Kubelet.Metrics = nil },
		"no kubelet":   func(s *evidence.Snapshot) { s.Kubelet = nil },
		"no pod":       func(s *evidence.Snapshot) { s.Pod = nil },
		"younger":      func(s *evidence.Snapshot) { s.Pod.CreationTimestamp = metaAgo(9 * time.Minute) },
		"no change":    func(s *evidence.Snapshot) { *s = *startedAgo(well(), 10*time.Minute) },
		"another kind": func(s *evidence.Snapshot) { s.Name.Kind = evidence.KindNode },
	} {
		s := again()
		change(s)
		if r := AfterRestart(s); r != nil {
			t.Errorf("%s: %+v", name, r.Changes)
		}
	}
}

// TestManyChanges: the newest are kept.
func TestManyChanges(t *testing.T) {
	s := again()
	for i := range 3 * maxChanges {
		s.Pod.Status.Conditions = append(s.Pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodConditionType(fmt.Sprint("c", i)), LastTransitionTime: metav1.NewTime(ago(time.Duration(i) * time.Second))})
	}
	r := AfterRestart(s)
	if n := len(r.Changes); n != maxChanges || r.Changes[n-1].What.En != "c0" {
		t.Errorf("%d changes, the last one %+v", n, r.Changes[n-1])
	}
}
