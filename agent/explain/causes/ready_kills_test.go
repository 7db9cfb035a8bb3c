package causes

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestProbeKill: a container that a health probe ends again and again is not called one that somebody else ends, however old
// the kubelet's events about it are.
func TestProbeKill(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	killing := func(ago time.Duration) evidence.Event {
		return evidence.Event{Reason: "Killing", Message: "Container app failed liveness probe, will be restarted", FieldPath: "spec.containers{app}", Last: now.Add(-ago)}
	}
	unhealthy := func(ago time.Duration) evidence.Event {
		return evidence.Event{Type: "Warning", Reason: "Unhealthy", Message: "Liveness probe failed: HTTP probe failed with statuscode: 500", FieldPath: "spec.containers{app}", Last: now.Add(-ago)}
	}
	const ended = 20 * time.Second // ago
	for name, c := range map[string]struct {
		code   int32
		ran    time.Duration
		events []evidence.Event
		id     string
		sure   Confidence
	}{
		"the kubelet says it":            {143, 30 * time.Second, []evidence.Event{killing(ended + time.Second)}, "ready.livenessRestarts", Certain},
		"it said it long ago":            {143, 30 * time.Second, []evidence.Event{killing(20 * time.Minute)}, "ready.livenessRestarts", Likely},
		"it does not end at once":        {137, time.Minute, []evidence.Event{killing(20 * time.Minute)}, "ready.livenessRestarts", Likely},
		"the probe failed in that run":   {137, 35 * time.Second, []evidence.Event{unhealthy(30 * time.Second)}, "ready.livenessRestarts", Likely},
		"no event is left":               {143, 30 * time.Second, nil, "ready.livenessRestarts", Likely},
		"it ended too early":             {143, 5 * time.Second, nil, "start.exitsTerminated", Likely},
		"it ran for long":                {137, time.Hour, nil, "start.exitsKilled", Likely},
		"it ended by itself":             {1, 30 * time.Second, []evidence.Event{killing(20 * time.Minute)}, "start.crashes", Likely},
		"by itself, at another time":     {1, 5 * time.Second, nil, "start.crashes", Certain},
		"a habit of programs":            {2, 5 * time.Second, nil, "start.exitsUsage", Likely},
		"it completes as the probe ends": {0, 30 * time.Second, nil, "start.completes", Likely},
	} {
		at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1", CreationTimestamp: at(2 * time.Hour)},
			Spec: corev1.PodSpec{NodeName: "n", RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{
				Name: "app", LivenessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}},
			}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: now.Add(-2 * time.Hour)}, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "app", RestartCount: 6, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
					ExitCode: c.code, Reason: "Error", StartedAt: at(ended + c.ran), FinishedAt: at(ended),
				}},
			}}},
		}
		for i := range c.events {
			e := &c.events[i]
			e.Kind, e.Name, e.UID, e.First, e.Count = "Pod", "web", "1", e.Last, 1
		}
		r := Explain(&evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Pod: p, Cluster: evidence.Cluster{Events: c.events}})
		if len(r.Findings) == 0 || r.Findings[0].Cause.ID != c.id || r.Findings[0].Confidence != c.sure {
			t.Errorf("%s: %+v, want %s %s", name, r.Findings, c.id, c.sure)
		}
	}
}
