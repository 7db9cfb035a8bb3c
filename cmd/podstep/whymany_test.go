package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestGroups: pods of one owner whose program ends in the same way are one group, and those of different owners are not. Owners
// do not count as stuck pods.
func TestGroups(t *testing.T) {
	now := time.Now()
	m := &gather.Many{Looked: 5}
	for i, owner := range []string{"a", "a", "b", ""} {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), Namespace: "shop", UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
			Spec:       corev1.PodSpec{NodeName: "n", RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{{Name: "app"}}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: now.Add(-time.Hour)}, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "app", RestartCount: 9, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(now.Add(-10 * time.Minute))}},
			}}},
		}
		s := &evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: p.Name, UID: fmt.Sprint("u", i)}, Pod: p}
		if owner != "" {
			s.Cluster.Owners = []evidence.Owner{{Kind: "ReplicaSet", Name: owner, UID: owner, Wanted: -1, Made: -1, Ready: -1}}
		}
		m.Pods = append(m.Pods, s)
	}
	m.Owners = []*evidence.Snapshot{{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Cluster: evidence.Cluster{Owners: []evidence.Owner{
		{Kind: "Deployment", Name: "web", UID: "w", Wanted: 4, Made: 2, Created: now.Add(-time.Hour)},
	}}}}
	a := newManyAnswer(m)
	if len(a.groups) != 4 || a.stuck != 4 || a.owners != 1 || !a.wrong() {
		t.Errorf("%d groups, %d stuck, %d owners", len(a.groups), a.stuck, a.owners)
	}
	var b bytes.Buffer
	a.write(&b, words.English)
	for _, want := range []string{"shop (replicaset/a, 2 pods)  stuck for 10m", "Deployment web wants 4 pods and has 2", "5 pods looked at: 4 stuck, 0 in other trouble", "owners of pods in trouble: 1", "By class: start 4, controllers 1."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// TestOwnerWantsNone: of an owner that wants no pods this is said, and nothing is wrong.
func TestOwnerWantsNone(t *testing.T) {
	a := newManyAnswer(&gather.Many{Owners: []*evidence.Snapshot{{Taken: time.Now(), Name: evidence.Name{Namespace: "shop", Name: "web"}, Cluster: evidence.Cluster{
		Owners: []evidence.Owner{{Kind: "Deployment", Name: "web", UID: "w", Created: time.Now().Add(-time.Hour)}},
	}}}})
	var b bytes.Buffer
	a.write(&b, words.English)
	if a.wrong() || !strings.Contains(b.String(), "It is scaled to zero") {
		t.Errorf("wrong: %v\n%s", a.wrong(), b.String())
	}
}

// TestLastLines: the lines are those of the container of the first finding, and of its run before if it runs again.
func TestLastLines(t *testing.T) {
	var many []string
	for i := range 15 {
		many = append(many, fmt.Sprint("line ", i))
	}
	logs := []evidence.ContainerLog{{Container: "other", Lines: many}, {Container: "app", Previous: true, Lines: many}, {Container: "app", Lines: []string{"now"}}}
	r := &causes.Report{Findings: []causes.Finding{{Cause: causes.Named("start.crashes"), Subject: "app"}}}
	got := lastLines(r, logs)
	if got == nil || !got.Previous || len(got.Lines) != logLines || got.Lines[logLines-1] != "line 14" {
		t.Errorf("%+v", got)
	}
	for want, log := range map[string]*evidence.ContainerLog{
		"container app wrote before it was started again:\n  | line 5\n": got,
		"Container app has written nothing.":                             {Container: "app"},
		"The log of container app cannot be read: forbidden":             {Container: "app", Why: evidence.Forbidden, Message: "forbidden"},
	} {
		var b bytes.Buffer
		if writeLog(&b, log, words.English); !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in %q", want, b.String())
		}
	}
	r.Findings[0].Subject = ""
	if lastLines(r, logs) != nil || lastLines(&causes.Report{}, logs) != nil {
		t.Error("there is a log, though no finding is about a container")
	}
}

// TestReach: what others suffer from comes first, however few its pods are, and of what could not be seen each kind is there once.
func TestReach(t *testing.T) {
	now := time.Now()
	m := &gather.Many{}
	add := func(namespace, name, reason string) {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "u", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))},
			Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app", Image: name}}},
			Status: corev1.PodStatus{Phase: corev1.PodPending, StartTime: &metav1.Time{Time: now.Add(-time.Hour)}, ContainerStatuses: []corev1.ContainerStatus{{
				Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "couldn't find key k in Secret " + namespace + "/s"}},
			}}},
		}
		s := &evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: namespace, Name: name}, Pod: p}
		s.Missed(evidence.API, "events of namespace "+namespace, evidence.Late, "")
		m.Pods = append(m.Pods, s)
	}
	for i := range 3 {
		add("shop", fmt.Sprint("p", i), "CreateContainerConfigError")
	}
	add("kube-system", "dns", "InvalidImageName")
	a := newManyAnswer(m)
	if len(a.groups) < 2 || a.groups[0].pods[0].Pod.Namespace != "kube-system" {
		t.Errorf("%d groups, the first of %s", len(a.groups), a.groups[0].pods[0].Pod)
	}
	if len(a.unseen) != 1 || !strings.Contains(a.unseen[0].What, "events of namespace shop (+1)") {
		t.Errorf("unseen: %+v", a.unseen)
	}
}

// TestDemands: pods that demand different things of the nodes are not one group, and those that differ only in the nearest
// node are.
func TestDemands(t *testing.T) {
	now := time.Now()
	add := func(name, more, nearest string) *causes.Finding {
		return &causes.Finding{
			Cause: causes.Named("scheduling.nodeAffinity"), Confidence: causes.Certain, Since: now,
			Args: causes.Args{"pod": name, "count": "1", "nodes": "4"}, More: []probes.Text{words.Same(more)}, Nearest: words.Same(nearest),
		}
	}
	one, same, other := add("pod-a", "No node has x.", "n1 lacks 1."), add("pod-b", "No node has x.", "n1 lacks 2."), add("pod-c", "No node has y.", "")
	if sameCause(one) != sameCause(same) || sameCause(one) == sameCause(other) {
		t.Errorf("%q, %q, %q", sameCause(one), sameCause(same), sameCause(other))
	}
}

// TestByCulprit: what is wrong with a culprit comes before its victims, and the victims of one come together, each once.
func TestByCulprit(t *testing.T) {
	since := time.Now()
	of := func(name, culprit string) group {
		f := &causes.Finding{Cause: causes.Named("general.fails")}
		if culprit != "" {
			f.Culprit = &causes.Culprit{Kind: causes.CulpritPod, Namespace: "shop", Name: culprit}
		}
		return group{[]groupPod{{&causes.Report{Pod: evidence.Name{Namespace: "shop", Name: name}, Since: since}, ""}}, f}
	}
	for want, groups := range map[string][]group{
		"b c a d": {of("c", "b"), of("a", ""), of("d", ""), of("b", "")},
		"r x y z": {of("y", "x"), of("z", "x"), of("x", "r"), of("r", "")},
		"a b c":   {of("a", "gone"), of("c", ""), of("b", "gone")},
	} {
		var got []string
		for _, g := range byCulprit(groups) {
			got = append(got, g.pods[0].Pod.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the order is %v, want %s", got, want)
		}
	}
	if n := len(byCulprit([]group{of("a", "b"), of("b", "a")})); n != 2 { // each waits for the other
		t.Errorf("%d groups are left of 2", n)
	}
	all := culprits([]group{of("a", "x"), of("b", "y"), of("c", "y"), of("d", "")})
	if len(all) != 2 || all[0].Name != "y" || all[0].Pods != 2 {
		t.Errorf("the culprits are %+v", all)
	}
}
