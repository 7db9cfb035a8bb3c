package state

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// gatedPod is the snapshot of a pod that has no node because of a scheduling gate.
func gatedPod(now time.Time) *evidence.Snapshot {
	at := metav1.NewTime(now.Add(-2 * time.Minute))
	return &evidence.Snapshot{
		Taken: now, Name: evidence.Name{Namespace: "shop", Name: "queued", UID: "q-1"},
		Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "queued", UID: "q-1", CreationTimestamp: at},
			Spec:       corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/queue"}}, Containers: []corev1.Container{{Name: "app"}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated", LastTransitionTime: at},
			}},
		},
	}
}

// TestUnscheduled: a pod without a node has a row, with the reason. Its causes can be looked
// at. It goes away when it has got another node.
func TestUnscheduled(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "node-1"}, probes.MustLoad(), words.English)
	now := time.Now()
	s.Tick(now)
	s.SetUnscheduled([]*causes.Report{causes.Explain(gatedPod(now))})
	sizes := screen.Sizes{Pods: 20, Main: 20, Detail: 10, Width: 100}
	rows := s.Screen(sizes).Pods.Rows
	if len(rows) != 2 || rows[0].Name != "queued" || rows[0].Word != "no node" || rows[0].Line == "" {
		t.Fatalf("the rows are %+v", rows)
	}
	s.SelectPod(rows[0].Key)
	s.SetSnapshot("q-1", gatedPod(now))
	s.SetMain(screen.MainWhy)
	view := s.Screen(sizes)
	if c := view.Causes(); c == nil || len(c.Items) == 0 || c.Items[0].Kind != screen.CauseTitle || c.Items[0].Text != rows[0].Line {
		t.Fatalf("the causes are %+v", view.Causes())
	}
	if view.Why.Text == "" || view.Why.Evidence == "" {
		t.Errorf("the line is %+v", view.Why)
	}
	s.Move(1)
	if c := s.Screen(sizes).Causes(); c.Cursor != 1 {
		t.Errorf("the cursor is at %d", c.Cursor)
	}
	s.SelectPod(0)
	s.SetUnscheduled(nil)
	if rows := s.Screen(sizes).Pods.Rows; len(rows) != 1 {
		t.Errorf("the rows are %+v", rows)
	}
}

// TestOldSnapshot: what was gathered about a pod is not shown for another one, nor for an earlier moment.
func TestOldSnapshot(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "node-1"}, probes.MustLoad(), words.English)
	now := time.Now()
	s.Tick(now)
	s.SetUnscheduled([]*causes.Report{causes.Explain(gatedPod(now))})
	s.SelectPodOf("q-1")
	s.SetSnapshot("another", gatedPod(now))
	if s.snapshotOf(s.pod) != nil {
		t.Error("another pod's snapshot is taken for this one's")
	}
	s.SetSnapshot("q-1", gatedPod(now))
	if s.snapshotOf(s.pod) == nil {
		t.Error("its own snapshot is not taken")
	}
	s.ToggleFreeze()
	if s.snapshotOf(s.pod) != nil {
		t.Error("what is known now is said of an earlier moment")
	}
}

// TestOutlivedSnapshot: the cause that kept a pod is not shown any more when the pod runs.
func TestOutlivedSnapshot(t *testing.T) {
	r := record(t)
	s := New(r.info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkLive, "live")
	for _, b := range r.batches {
		if s.Add(b); s.SelectPodNamed("default", "web") && s.whyLine(s.view()).Mark == life.Idle {
			break
		}
	}
	v := s.view()
	state, since := s.verdictOf(s.pod, v)
	if state != life.Idle {
		t.Fatal("the pod never ran")
	}
	uid, ran := s.podAt(s.pod).Entity.UID, time.Unix(0, s.h.Origin()+since)
	own := s.whyLine(v)
	for taken, old := range map[time.Time]bool{ran.Add(-time.Second): true, ran.Add(time.Second): false} {
		kept := gatedPod(taken)
		kept.Name.UID, kept.Pod.UID = uid, types.UID(uid)
		s.SetSnapshot(uid, kept)
		if got := s.whyLine(s.view()); (got == own) != old {
			t.Errorf("taken %s after it ran: %q", taken.Sub(ran), got.Text)
		}
	}
}

// TestCulprit: Enter at the culprit of a pod goes to that pod.
func TestCulprit(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "node-1"}, probes.MustLoad(), words.English)
	s.Tick(time.Now())
	s.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "shop", Name: "sick", Uid: "u1"}}})
	sick, ok := s.h.PodOf("u1")
	if !ok {
		t.Fatal("the pod is not known")
	}
	f := &causes.Finding{Cause: causes.Named("source.waitsForStatus"), Culprit: &causes.Culprit{Kind: causes.CulpritPod, Namespace: "shop", Name: "sick"}}
	items := s.finding(f, &causes.Report{})
	i := slices.IndexFunc(items, func(c cause) bool { return c.Goes == screen.CauseToPod })
	if i < 0 || items[i].pod != sick || items[i].Text != "pod shop/sick" {
		t.Fatalf("the items are %+v", items)
	}
	f.Culprit.Name = "elsewhere" // no pod of this node: there is nothing to go to
	if items := s.finding(f, &causes.Report{}); items[i].Goes != "" || items[i].pod != 0 {
		t.Errorf("the item is %+v", items[i])
	}
}

// TestVictims: with the culprit of the selected pod stand the other stuck pods that it keeps.
func TestVictims(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "node-1"}, probes.MustLoad(), words.English)
	now := time.Now()
	s.Tick(now)
	var reports []*causes.Report
	for name, driver := range map[string]string{"a": "csi.example.com", "b": "csi.example.com", "c": "dra.example.com"} {
		reports = append(reports, &causes.Report{
			Pod: evidence.Name{Namespace: "shop", Name: name, UID: name}, State: life.Stuck, Since: now.Add(-time.Minute), Taken: now,
			Findings: []causes.Finding{{
				Cause: causes.Named("volumes.driverAway"), Culprit: &causes.Culprit{Kind: causes.CulpritDriver, Name: driver},
			}},
		})
	}
	s.SetUnscheduled(reports)
	s.SetMain(screen.MainWhy)
	names := map[string]string{"a": "shop/b waits for it too", "b": "shop/a waits for it too", "c": ""}
	for _, name := range []string{"a", "b", "c", "a", "b"} {
		want := names[name]
		s.SelectPodOf(name)
		var got []string
		for _, item := range s.Screen(screen.Sizes{Pods: 20, Main: 20, Detail: 10, Width: 100}).Causes().Items {
			if item.Label == "others" {
				got = append(got, item.Text)
			}
		}
		if want == "" && got != nil || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("with %s it says %q, want %q", name, got, want)
		}
	}
}
