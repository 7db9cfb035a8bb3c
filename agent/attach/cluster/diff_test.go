package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/probes"
)

// noon is the time of the test's objects; observedAt is when a source sees them.
var (
	noon       = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	observedAt = noon.Add(time.Hour)
)

func at(seconds int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second))
}

// webPod returns a pod that was just bound.
func webPod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: "u1", ResourceVersion: "10", Generation: 1, CreationTimestamp: at(0),
			Labels: map[string]string{"app": "web"},
		},
		Spec: v1.PodSpec{
			NodeName:       "node-1",
			InitContainers: []v1.Container{{Name: "init", Image: "a:1"}},
			Containers:     []v1.Container{{Name: "app", Image: "b:1"}},
		},
		Status: v1.PodStatus{
			Phase:      v1.PodPending,
			Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: at(1)}},
		},
	}
}

// with returns a changed copy of a pod.
func with(p *v1.Pod, change func(*v1.Pod)) *v1.Pod {
	p = p.DeepCopy()
	change(p)
	return p
}

// line shows a report as a line of text: the step's name, its fields with values, its error, and the seconds since
// noon unless it is reported as just seen.
func line(t *testing.T, s Report) string {
	t.Helper()
	step := probes.MustLoad().Step(s.Step)
	if step == nil {
		t.Fatalf("the catalogue has no step %s", s.Step)
	}
	if len(step.Fields) != len(s.Values) {
		t.Fatalf("%s has %d values for %d fields", s.Step, len(s.Values), len(step.Fields))
	}
	out := s.Step
	for i, v := range s.Values {
		switch v := v.(type) {
		case nil:
		case time.Time:
			out += fmt.Sprintf(" %s=+%v", step.Fields[i].Name, v.Sub(noon).Seconds())
		default:
			out += fmt.Sprintf(" %s=%v", step.Fields[i].Name, v)
		}
	}
	if s.Err != "" {
		out += " !" + s.Err
	}
	if !s.At.Equal(observedAt) {
		out += fmt.Sprintf(" @%v", s.At.Sub(noon).Seconds())
	}
	return out
}

func compare(t *testing.T, got []Report, want ...string) {
	t.Helper()
	var lines []string
	for _, s := range got {
		lines = append(lines, line(t, s))
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(lines, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestWanted(t *testing.T) {
	deleted := with(webPod(), func(p *v1.Pod) {
		grace, until := int64(30), at(90)
		p.Generation, p.DeletionTimestamp, p.DeletionGracePeriodSeconds = 2, &until, &grace
	})
	for _, c := range []struct {
		name     string
		old, pod *v1.Pod
		from     source
		want     []string
	}{
		{"new", nil, webPod(), live, []string{"cluster.bound node=node-1 generation=1 containers=[init app]"}},
		{"there before", nil, webPod(), fromObject, []string{"cluster.bound node=node-1 generation=1 containers=[init app] since=+1 from=object @1"}},
		{"bound without a scheduler", nil, with(webPod(), func(p *v1.Pod) { p.Status.Conditions = nil }), fromObject,
			[]string{"cluster.bound node=node-1 generation=1 containers=[init app] since=+0 from=object @0"}},
		{"the same", webPod(), webPod(), live, nil},
		{"only the status", webPod(), with(webPod(), func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }), live, nil},
		{"deleted", webPod(), deleted, live, []string{"cluster.deleting grace=30 until=+90"}},
		{"deleted before", nil, deleted, fromObject, []string{
			"cluster.bound node=node-1 generation=2 containers=[init app] since=+1 from=object @1",
			"cluster.deleting grace=30 until=+90 since=+60 from=object @60"}},
		{"deleted, published", deleted, deleted, live, nil},
		{"less grace", deleted, with(deleted, func(p *v1.Pod) {
			grace, until := int64(0), at(60)
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &until, &grace
		}), live, []string{"cluster.deleting grace=0 until=+60"}},
		{"deleted with finalizers", webPod(), with(deleted, func(p *v1.Pod) { p.Finalizers = []string{"a.io/x", "b.io/y"} }), live,
			[]string{"cluster.deleting grace=30 until=+90 finalizers=[a.io/x b.io/y]"}},
		{"one finalizer less", with(deleted, func(p *v1.Pod) { p.Finalizers = []string{"a.io/x", "b.io/y"} }),
			with(deleted, func(p *v1.Pod) { p.Finalizers = []string{"b.io/y"} }), live,
			[]string{"cluster.deleting grace=30 until=+90 finalizers=[b.io/y]"}},
		{"the last finalizer", with(deleted, func(p *v1.Pod) { p.Finalizers = []string{"b.io/y"} }), deleted, live,
			[]string{"cluster.deleting grace=30 until=+90"}},
		{"finalizers of a pod that stays", webPod(), with(webPod(), func(p *v1.Pod) { p.Finalizers = []string{"a.io/x"} }), live, nil},
		{"image", webPod(), with(webPod(), func(p *v1.Pod) { p.Generation, p.Spec.Containers[0].Image = 2, "b:2" }), live,
			[]string{"cluster.changed generation=2 changed=[images]"}},
		{"label", webPod(), with(webPod(), func(p *v1.Pod) { p.Labels["app"] = "other" }), live,
			[]string{"cluster.changed generation=1 changed=[labels]"}},
		{"resize", webPod(), with(webPod(), func(p *v1.Pod) {
			p.Generation = 2
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
		}), live, []string{"cluster.changed generation=2 changed=[resources]"}},
		{"debugged", webPod(), with(webPod(), func(p *v1.Pod) {
			p.Generation, p.Spec.EphemeralContainers = 2, []v1.EphemeralContainer{{}}
		}), live, []string{"cluster.changed generation=2 changed=[ephemeralContainers]"}},
		{"something else", webPod(), with(webPod(), func(p *v1.Pod) { p.Generation = 2 }), live,
			[]string{"cluster.changed generation=2 changed=[spec]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := observation{c.pod, c.from, observedAt}
			compare(t, h.wanted(c.old), c.want...)
		})
	}
}

func running(began int) v1.ContainerState {
	return v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: at(began)}}
}

func ended(began, finished int, code int32, reason string) v1.ContainerState {
	return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{
		ExitCode: code, Reason: reason, Message: "what it printed", StartedAt: at(began), FinishedAt: at(finished)}}
}

func waits(reason, message string) v1.ContainerState {
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// status returns a pod with the status of one container.
func status(c v1.ContainerStatus) *v1.Pod {
	return with(webPod(), func(p *v1.Pod) {
		start := at(2)
		c.Name = "app"
		p.Status = v1.PodStatus{StartTime: &start, ContainerStatuses: []v1.ContainerStatus{c}}
	})
}

func TestReported(t *testing.T) {
	phase := func(ph v1.PodPhase, reason, message string) *v1.Pod {
		return with(webPod(), func(p *v1.Pod) { p.Status = v1.PodStatus{Phase: ph, Reason: reason, Message: message} })
	}
	ready := func(st v1.ConditionStatus, reason string, since int) *v1.Pod {
		return with(webPod(), func(p *v1.Pod) {
			p.Status = v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: st, Reason: reason, LastTransitionTime: at(since)}}}
		})
	}
	for _, c := range []struct {
		name     string
		old, pod *v1.Pod
		from     source
		want     []string
	}{
		{"new", nil, webPod(), live, []string{
			"reported.condition type=PodScheduled status=True since=+1", "reported.phase phase=Pending"}},
		{"there before, in order of time", nil, webPod(), fromObject, []string{
			"reported.phase phase=Pending since=+0 from=object @0", "reported.condition type=PodScheduled status=True since=+1 from=object @1"}},
		{"the same", webPod(), webPod(), live, nil},
		{"resync with other times of probes", ready("True", "", 5), with(ready("True", "", 5), func(p *v1.Pod) {
			p.Status.Conditions[0].LastProbeTime = at(50)
		}), live, nil},
		{"phase", phase("Pending", "", ""), phase("Running", "", ""), live, []string{"reported.phase phase=Running"}},
		{"evicted", phase("Running", "", ""), phase("Failed", "Evicted", "low on memory"), live,
			[]string{"reported.phase phase=Failed reason=Evicted message=low on memory !the pod failed (Evicted): low on memory"}},
		{"not ready", ready("True", "", 5), ready("False", "ContainersNotReady", 9), live,
			[]string{"reported.condition type=Ready status=False reason=ContainersNotReady since=+9"}},
		{"by the kubelet", ready("True", "", 5), ready("False", "", 9), fromKubelet,
			[]string{"reported.condition type=Ready status=False since=+9 from=kubelet"}},
		{"in the order of a pod's way", nil, with(status(v1.ContainerStatus{State: running(9)}), func(p *v1.Pod) {
			p.Status.Phase, p.Status.PodIP = v1.PodRunning, "10.0.0.1"
			for _, c := range []v1.PodConditionType{v1.PodReady, "example.com/gate", v1.PodInitialized, v1.ContainersReady, v1.PodScheduled} {
				p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: c, Status: "True"})
			}
		}), live, []string{
			"reported.condition type=PodScheduled status=True", "reported.condition type=Initialized status=True",
			"reported.ip ips=[10.0.0.1]", "reported.container container=app state=running restartCount=0 ready=false", "reported.phase phase=Running",
			"reported.condition type=example.com/gate status=True", "reported.condition type=ContainersReady status=True", "reported.condition type=Ready status=True"}},
		{"address", webPod(), with(webPod(), func(p *v1.Pod) { p.Status.PodIPs = []v1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}} }), live,
			[]string{"reported.ip ips=[10.0.0.1 fd00::1]"}},
		{"waits", nil, status(v1.ContainerStatus{State: waits("ContainerCreating", "")}), live,
			[]string{"reported.container container=app state=waiting reason=ContainerCreating restartCount=0 ready=false"}},
		{"no image", status(v1.ContainerStatus{State: waits("ContainerCreating", "")}), status(v1.ContainerStatus{State: waits("ErrImagePull", "not found")}), live,
			[]string{"reported.container container=app state=waiting reason=ErrImagePull message=not found restartCount=0 ready=false !app cannot start (ErrImagePull): not found"}},
		{"runs", status(v1.ContainerStatus{State: waits("ContainerCreating", "")}), status(v1.ContainerStatus{State: running(4)}), live,
			[]string{"reported.container container=app state=running restartCount=0 ready=false"}},
		{"gets ready", status(v1.ContainerStatus{State: running(4)}), status(v1.ContainerStatus{State: running(4), Ready: true}), live,
			[]string{"reported.container container=app state=running restartCount=0 ready=true"}},
		{"ends, without its own words", status(v1.ContainerStatus{State: running(4)}), status(v1.ContainerStatus{State: ended(4, 6, 3, "Error")}), live,
			[]string{"reported.container container=app state=terminated reason=Error exitCode=3 restartCount=0 ready=false !app ended with exit code 3 (Error)"}},
		{"ended and runs again between two reports", status(v1.ContainerStatus{State: running(4)}),
			status(v1.ContainerStatus{State: running(8), RestartCount: 1, LastTerminationState: ended(4, 6, 137, "OOMKilled")}), live,
			[]string{"reported.container container=app state=running restartCount=1 ready=false lastReason=OOMKilled lastExitCode=137"}},
		{"a crash loop of before", nil,
			status(v1.ContainerStatus{State: waits("CrashLoopBackOff", "back-off"), RestartCount: 2, LastTerminationState: ended(20, 25, 1, "Error")}), fromObject,
			[]string{
				"reported.container container=app state=running restartCount=2 ready=false since=+20 from=object @20",
				"reported.container container=app state=terminated reason=Error exitCode=1 restartCount=2 ready=false since=+25 from=object !app ended with exit code 1 (Error) @25",
				"reported.container container=app state=waiting reason=CrashLoopBackOff message=back-off restartCount=2 ready=false lastReason=Error lastExitCode=1 since=+25 from=object !app cannot start (CrashLoopBackOff): back-off @25"}},
		{"a restart of before", nil,
			status(v1.ContainerStatus{State: running(30), RestartCount: 1, Ready: true, LastTerminationState: ended(20, 25, 0, "Completed")}), fromObject,
			[]string{
				"reported.container container=app state=running restartCount=0 ready=false since=+20 from=object @20",
				"reported.container container=app state=terminated reason=Completed exitCode=0 restartCount=0 ready=false since=+25 from=object @25",
				"reported.container container=app state=running restartCount=1 ready=true lastReason=Completed lastExitCode=0 since=+30 from=object @30"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := observation{c.pod, c.from, observedAt}
			compare(t, h.reported(c.old), c.want...)
		})
	}
}

func TestPhaseAt(t *testing.T) {
	start := at(2)
	for _, c := range []struct {
		phase  v1.PodPhase
		states []v1.ContainerState
		want   int
	}{
		{"Pending", nil, 2},
		{"Running", []v1.ContainerState{running(9), running(7)}, 7},
		{"Running", nil, 2},
		{"Succeeded", []v1.ContainerState{ended(3, 8, 0, ""), ended(3, 11, 0, "")}, 11},
		{"Failed", nil, 2},
	} {
		p := webPod()
		p.Status = v1.PodStatus{Phase: c.phase, StartTime: &start}
		for _, s := range c.states {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, v1.ContainerStatus{State: s})
		}
		if got, want := phaseAt(p), at(c.want).Time; !got.Equal(want) {
			t.Errorf("%s of %d containers since %v, want %v", c.phase, len(c.states), got, want)
		}
	}
}

// TestTrim: no part of a pod that may hold a secret is kept, whatever its source.
func TestTrim(t *testing.T) {
	const secret = "hunter2"
	p := with(webPod(), func(p *v1.Pod) {
		p.Annotations = map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": secret, probes.AnnotationSource: "api", v1.MirrorPodAnnotationKey: "m",
		}
		c := &p.Spec.Containers[0]
		c.Env = []v1.EnvVar{{Name: "PASSWORD", Value: secret}}
		c.Command, c.Args = []string{secret}, []string{secret}
		c.LivenessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{secret}}}}
		e := v1.EphemeralContainer{}
		e.Name, e.Command = "debug", []string{secret}
		p.Spec.EphemeralContainers = []v1.EphemeralContainer{e}
		p.Spec.Volumes = []v1.Volume{{Name: secret}}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: secret}}
	})
	kept := trim(p)
	text, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte(secret)) {
		t.Errorf("kept %s", text)
	}
	if kept.Annotations[probes.AnnotationSource] != "api" || uid(kept) != "m" || kept.Spec.Containers[0].Image != "b:1" || kept.Labels["app"] != "web" {
		t.Errorf("kept too little: %+v", kept)
	}
}
