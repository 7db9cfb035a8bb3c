package main

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
)

// TestUnscheduledStates: pods without a node have a state like others, and stand among them by it.
func TestUnscheduledStates(t *testing.T) {
	now := time.Now()
	var found []*evidence.Snapshot
	for name, age := range map[string]time.Duration{"old": time.Hour, "new": time.Second} {
		found = append(found, &evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: name, UID: name}, Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-age))},
			Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/gate"}}},
			Status:     corev1.PodStatus{Phase: corev1.PodPending},
		}})
	}
	pods := append(unscheduledStates(found, &agentpb.PodSelector{Namespace: "shop"}), &agentpb.PodState{Pod: &agentpb.Pod{Namespace: "shop", Name: "running"}, State: "running"})
	life.SortWorst(pods)
	var got string
	for _, p := range pods {
		got += p.Pod.Name + " " + p.State + " " + p.Step + "; "
	}
	if got != "old stuck no node; new waiting no node; running running ; " {
		t.Errorf("%s", got)
	}
	if pods[0].Error == "" || now.Sub(pods[0].Since.AsTime()).Round(time.Minute) != time.Hour {
		t.Errorf("%+v", pods[0])
	}
	if other := unscheduledStates(found, &agentpb.PodSelector{Namespace: "other"}); len(other) > 0 {
		t.Errorf("%v", other)
	}
}
