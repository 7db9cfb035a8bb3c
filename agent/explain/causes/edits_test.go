package causes

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// TestEdits: what people and their programs changed counts, for an hour; creations and what the control plane does by rule do not.
func TestEdits(t *testing.T) {
	now := time.Date(2026, 11, 25, 15, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	made := *ago(30 * time.Minute)
	s := &evidence.Snapshot{
		Taken: now,
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", CreationTimestamp: made, ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "made", Time: ago(30 * time.Minute)}, {Manager: "kubectl-patch", Time: ago(4 * time.Minute), Subresource: "resize"},
			{Manager: "kube-controller-manager", Time: ago(time.Minute)}, {Manager: "untimed"}}}},
		Cluster: evidence.Cluster{
			Owners: []evidence.Owner{
				{Kind: "ReplicaSet", Name: "web-1", Changed: made.Time, ChangedBy: "kube-controller-manager"},
				{Kind: "Deployment", Name: "web", Changed: now.Add(-31 * time.Minute), ChangedBy: "kubectl-edit"},
				{Kind: "Widget", Name: "old", Changed: now.Add(-3 * time.Hour), ChangedBy: "kubectl-edit"},
			},
			Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "kubectl-cordon", Time: ago(2 * time.Minute)}, {Manager: "kubelet", Time: ago(time.Minute)}}}},
		},
	}
	c := newCase(s)
	var got []string
	for _, e := range c.editsBefore(now.Add(-10 * time.Minute)) {
		got = append(got, e.Object+" "+e.In(words.English, now))
	}
	want := []string{"node/node-1 by kubectl-cordon, 2m ago", "pod/web-1 resize by kubectl-patch, 4m ago", "deployment/web by kubectl-edit, 31m ago"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
