package causes

import (
	"cmp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// mounting makes a case of a pod with events. Their ages are in whole seconds.
func mounting(condition corev1.ConditionStatus, events ...evidence.Event) *Case {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1"}}
	if condition != "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: condition}}
	}
	for i := range events {
		e := &events[i]
		e.Kind, e.Name, e.UID = "Pod", "web", "1"
		e.First = now.Add(time.Until(cmp.Or(e.First, e.Last)).Round(time.Second))
		e.Last, e.Count = now.Add(time.Until(e.Last).Round(time.Second)), max(e.Count, 1)
	}
	return newCase(&evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Pod: p, Cluster: evidence.Cluster{Events: events}})
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

// TestOperationOver: an event about a volume counts until the next one should have come.
func TestOperationOver(t *testing.T) {
	const failed = `MountVolume.SetUp failed for volume "config" : `
	for _, c := range []struct {
		name   string
		event  evidence.Event
		others []evidence.Event
		over   bool
	}{
		{"just now", evidence.Event{Reason: "FailedMount", Message: failed + "a", Last: ago(time.Second)}, nil, false},
		{"once, long ago", evidence.Event{Reason: "FailedMount", Message: failed + "a", Last: ago(time.Minute)}, nil, true},
		{"often, a minute ago", evidence.Event{Reason: "FailedMount", Message: failed + "a", Last: ago(time.Minute), Count: 9}, nil, false},
		{"often, four minutes ago", evidence.Event{Reason: "FailedMount", Message: failed + "a", Last: ago(4 * time.Minute), Count: 9}, nil, false},
		{"often, five minutes ago", evidence.Event{Reason: "FailedMount", Message: failed + "a", Last: ago(5 * time.Minute), Count: 9}, nil, true},
		{"long since, a minute ago", evidence.Event{Reason: "FailedMount", Message: failed + "a", First: ago(10 * time.Minute), Last: ago(time.Minute), Count: 2}, nil, false},
		{"each time another error", evidence.Event{Reason: "FailedMount", Message: failed + "a", Last: ago(time.Minute)}, []evidence.Event{
			{Reason: "FailedMount", Message: failed + "b", Last: ago(2 * time.Minute), Count: 8},
		}, false},
		{"a call that takes two minutes", evidence.Event{Reason: "FailedMount", Message: failed + "code = DeadlineExceeded", Last: ago(2 * time.Minute)}, nil, false},
		{"too many events", evidence.Event{Type: "Warning", Reason: "FailedMount", Message: failed + "a", Last: ago(4 * time.Minute), Count: 30}, nil, false},
		{"attached meanwhile", evidence.Event{Reason: "FailedAttachVolume", Message: `AttachVolume.Attach failed for volume "pv" : busy`, Last: ago(2 * time.Second)}, []evidence.Event{
			{Reason: "SuccessfulAttachVolume", Message: `AttachVolume.Attach succeeded for volume "pv" `, Last: ago(time.Second)},
		}, true},
	} {
		all := mounting("", append([]evidence.Event{c.event}, c.others...)...)
		if got := all.operationOver(&all.Cluster.Events[0]); got != c.over {
			t.Errorf("%s: over is %v", c.name, got)
		}
	}
}

// TestOpenWarnings: a warning about a volume is open no more when its next try must have gone well; one about all volumes, or
// about the sandbox, is.
func TestOpenWarnings(t *testing.T) {
	for message, open := range map[string]bool{
		`MountVolume.SetUp failed for volume "token" : failed to sync configmap cache: timed out waiting for the condition`: false,
		`AttachVolume.Attach failed for volume "pv" : rpc error: code = Internal desc = busy`:                               false,
		`Unable to attach or mount volumes: unmounted volumes=[token], unattached volumes=[]: timed out waiting`:            true,
		`Failed to create pod sandbox: rpc error: code = Unknown desc = plugin type="bridge" failed (add): exit status 1`:   true,
	} {
		c := mounting(corev1.ConditionFalse, evidence.Event{Type: corev1.EventTypeWarning, Reason: "Failed", Message: message, Last: ago(2 * time.Minute)})
		if got := len(c.openWarnings()) > 0; got != open {
			t.Errorf("%s: open is %v", message, got)
		}
	}
}

// TestOver: a finding on something that holds up the sandbox is over when the sandbox is there.
func TestOver(t *testing.T) {
	held := &Cause{ID: "x", Holds: holdsSandbox}
	pulling := evidence.Event{Reason: "Pulling", Last: ago(10 * time.Second)}
	for _, c := range []struct {
		name  string
		of    *Case
		since time.Duration // of the evidence
		over  bool
	}{
		{"no sandbox", mounting(corev1.ConditionFalse, pulling), time.Minute, false},
		{"a sandbox", mounting(corev1.ConditionTrue), time.Second, true},
		{"images are pulled", mounting("", pulling), time.Minute, true},
		{"it came after images were pulled", mounting("", pulling), time.Second, false},
		{"nothing else is known", mounting(""), time.Minute, false},
	} {
		f := Finding{Cause: held, Evidence: []Evidence{{At: c.of.Now.Add(-c.since)}}}
		if got := c.of.isOver(f); got != c.over {
			t.Errorf("%s: over is %v", c.name, got)
		}
		if f.Cause = (&Cause{ID: "y"}); c.of.isOver(f) {
			t.Errorf("%s: over, though it holds up nothing", c.name)
		}
	}
}

// TestPastFailures: a call that failed for a container before that container last started says nothing of what is wrong now,
// whatever showed the start.
func TestPastFailures(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ago time.Duration) metav1.Time { return metav1.NewTime(now.Add(-ago)) }
	ended := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, StartedAt: at(30 * time.Second), ExitCode: 1}}
	}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	failed := func(container string, ago time.Duration) evidence.Call {
		return evidence.Call{Step: "cri.PullImage", Fields: map[string]string{"container": container}, Error: "no route to host", Began: now.Add(-ago - time.Second), Ended: now.Add(-ago)}
	}
	for _, c := range []struct {
		name   string
		status corev1.ContainerStatus
		done   []evidence.Call
		failed evidence.Call
		past   bool
	}{
		{"it waits for its first start", corev1.ContainerStatus{State: waits}, nil, failed("app", time.Minute), false},
		{"it runs", corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(30 * time.Second)}}}, nil, failed("app", time.Minute), true},
		{"it has ended", corev1.ContainerStatus{State: ended("Error")}, nil, failed("app", time.Minute), true},
		{"it ended and waits", corev1.ContainerStatus{State: waits, LastTerminationState: ended("Error")}, nil, failed("app", time.Minute), true},
		{"its program never ran", corev1.ContainerStatus{State: waits, LastTerminationState: ended("StartError")}, nil, failed("app", time.Minute), false},
		{"the story has its start", corev1.ContainerStatus{State: waits}, []evidence.Call{
			{Step: "cri.StartContainer", Fields: map[string]string{"container": "app"}, Began: now.Add(-30 * time.Second), Ended: now.Add(-29 * time.Second)},
		}, failed("app", time.Minute), true},
		{"it failed after the start", corev1.ContainerStatus{State: waits, LastTerminationState: ended("Error")}, nil, failed("app", time.Second), false},
		{"another container failed", corev1.ContainerStatus{State: waits, LastTerminationState: ended("Error")}, nil, failed("log", time.Minute), false},
	} {
		c.status.Name = "app"
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(at(time.Hour)), ContainerStatuses: []corev1.ContainerStatus{c.status}}}
		s := &evidence.Snapshot{Taken: now, Name: evidence.Name{Namespace: "shop", Name: "web"}, Pod: p, Story: &evidence.Story{Failed: []evidence.Call{c.failed}, Done: c.done}}
		if got := len(newCase(s).Story.Failed) == 0; got != c.past {
			t.Errorf("%s: past is %v", c.name, got)
		}
		if len(s.Story.Failed) != 1 {
			t.Fatalf("%s: the snapshot itself has lost the call", c.name)
		}
	}
}
