package causes

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// twoWaiting returns a pod of two containers that wait, each for a reason of its own.
func twoWaiting() *evidence.Snapshot {
	waits := func(name, image, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: message}}}
	}
	start := metav1.NewTime(testNow.Add(-time.Minute))
	return &evidence.Snapshot{Taken: testNow, Pod: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u1", CreationTimestamp: start},
		Spec: corev1.PodSpec{
			NodeName: "node-1", Containers: []corev1.Container{{Name: "a", Image: "a:1"}, {Name: "b", Image: "b:1"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "data:1"}}}},
		},
		Status: corev1.PodStatus{StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{
			waits("a", "a:1", `failed to resolve "docker.io/library/data:1": not found`), waits("b", "b:1", "the store is closed"),
		}},
	}}
}

// TestOfAnotherContainer: a finding on one container is no consequence of a finding on another.
// A message about an image volume names the volume's image.
func TestOfAnotherContainer(t *testing.T) {
	r := Explain(twoWaiting())
	if got := ids(r); !slices.Equal(got, []string{"image.notFound", "image.failed"}) {
		t.Fatal(got)
	}
	if f := r.Findings[1]; f.Of != "" || f.Subject != "b" {
		t.Errorf("%s of %s is a consequence of %q", f.Cause.ID, f.Subject, f.Of)
	}
	if got := r.Findings[0].Args["image"]; got != "data:1" {
		t.Errorf("the image is %s", got)
	}
}

// TestNextTry: the next try comes when the kubelet says, or as the number of restarts tells.
func TestNextTry(t *testing.T) {
	for _, test := range []struct {
		message  string
		restarts int32
		want     time.Duration
	}{
		{"back-off 1m20s restarting failed container=a pod=web_default(u1)", 1, 80 * time.Second},
		{"", 1, 10 * time.Second},
		{"", 3, 40 * time.Second},
		{"", 90, 5 * time.Minute},
	} {
		s := twoWaiting()
		k := &s.Pod.Status.ContainerStatuses[0]
		k.State.Waiting.Reason, k.State.Waiting.Message, k.RestartCount = "CrashLoopBackOff", test.message, test.restarts
		k.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(testNow)}
		c := newCase(s)
		if got := c.nextTry(c.containers()[0]).Sub(testNow); got != test.want {
			t.Errorf("%q after %d restarts: %s, not %s", test.message, test.restarts, got, test.want)
		}
	}
}
