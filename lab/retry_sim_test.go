//go:build sim

package lab_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// faulty makes a pod for which the simulated runtime does something else than it should.
func faulty(name, fault, value string) *corev1.Pod {
	p := labtest.BusyboxPod(name, labtest.Sleep)
	p.Annotations = map[string]string{"sim.podstep.dev/" + fault: value}
	p.Spec.Containers[0].Image = "registry.example/" + name + ":1"
	return p
}

// retry asks for a retry of a pod.
func retry(l *labtest.Lab, pod string) (*agentpb.RetryResponse, error) {
	return l.Agent().Retry(l.Context(), &agentpb.RetryRequest{Pods: &agentpb.PodSelector{Namespace: "default", Name: pod}, Message: "mended"})
}

// inTurn returns the events of the turn with a number, as "KIND STEP", from the end of the back-off on.
func inTurn(l *labtest.Lab, pod string, number uint32) (out []string) {
	ended := false
	for _, e := range l.Story(pod) {
		ended = ended || e.Fields["note"] == agentpb.NoteBackOffEnded
		if ended && e.Sync == number {
			out = append(out, string(e.Kind)+" "+e.Step)
		}
	}
	return out
}

// TestRetry: the woven kubelet ends the back-off of one pod and tries again, in the turn that it begins for that. It is the
// events that prove it: the kubelet was in a back-off of 20 s or more as it came to the step, and went on in the same turn.
func TestRetry(t *testing.T) {
	t.Parallel() // its node mostly waits
	l := labtest.StartSim(t)
	if !l.Agent().About().GetRetries() {
		t.Fatal("the agent of a woven kubelet does not offer retries")
	}
	for _, p := range []*corev1.Pod{faulty("img", "pull", "not-found"), faulty("other", "pull", "not-found"), faulty("crash", "exit", "1"), faulty("fine", "pull-time", "1ms")} {
		l.Create(p)
	}
	l.UntilReady("fine")
	checkImageRetry(t, l)
	checkCrashRetry(t, l)
	checkVolumeRetry(t, l)
	got, err := retry(l, "fine")
	if err != nil || got.Ended != nil || !got.Over {
		t.Errorf("of a pod that is in no back-off the answer is %v, %v", got, err)
	}
	l.Delete("fine")
	l.UntilGone("fine")
	labtest.Eventually(t, "a retry of a pod that is gone is refused for that", func() bool { // the kubelet learns that from the API server
		_, err := retry(l, "fine")
		return reason.ProblemOf(err).GetCode() == agentpb.Problem_POD_GONE
	})
}

// checkImageRetry: of two pods that wait for the same, only the one that is asked for pulls at once.
func checkImageRetry(t *testing.T, l *labtest.Lab) {
	t.Helper()
	for _, pod := range []string{"img", "other"} {
		l.UntilEvent(pod, "in a back-off of 20 s", func(e probes.Event) bool {
			return e.Step == "image.pull" && e.Kind == probes.Exit && e.Fields["backOff"] == "20s"
		})
	}
	// The image is there now. The change of the pod has it synced, and that ends no back-off.
	patch := []byte(`{"metadata":{"annotations":{"sim.podstep.dev/pull":null}}}`)
	if _, err := l.Client.CoreV1().Pods("default").Patch(l.Context(), "img", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := retry(l, "img")
	if err != nil || got.Ended.GetStep() != "image.pull" || got.Ended.Of.GetText() != "registry.example/img:1" || got.Ended.Length.AsDuration() < 20*time.Second {
		t.Fatalf("the answer is %v, %v", got, err)
	}
	l.UntilReady("img")
	if turn := inTurn(l, "img", got.Sync); !slices.Contains(turn, "enter cri.PullImage") || !slices.Contains(turn, "exit cri.StartContainer") {
		t.Errorf("from the end of the back-off on, its turn has %q, want the pull of the image and the start of the container", turn)
	}
	for _, e := range l.Story("other") {
		if e.Fields["note"] != nil {
			t.Errorf("the pod that nobody asked for has the note %v", e.Fields)
		}
	}
	if got, err = retry(l, "other"); err != nil || got.Ended == nil {
		t.Errorf("of the other pod, whose back-off goes on, the answer is %v, %v", got, err)
	}
}

// checkCrashRetry: a container that crashed starts at once.
func checkCrashRetry(t *testing.T, l *labtest.Lab) {
	t.Helper()
	l.UntilEvent("crash", "in a back-off of 20 s", func(e probes.Event) bool {
		message, _ := e.Fields["message"].(string)
		return e.Step == "rt.backoff" && e.Fields["isInBackOff"] == true && !strings.HasPrefix(message, "back-off 10s")
	})
	got, err := retry(l, "crash")
	if err != nil || got.Ended.GetStep() != "rt.backoff" || got.Ended.Of.GetText() != "app" || got.Ended.Length.AsDuration() < 20*time.Second {
		t.Fatalf("the answer is %v, %v", got, err)
	}
	started := l.UntilEvent("crash", "started again", func(e probes.Event) bool {
		return e.Step == "cri.StartContainer" && e.Kind == probes.Exit && e.Sync == got.Sync
	})
	if e := started[len(started)-1]; e.Error != "" {
		t.Errorf("the container did not start: %s", e.Error)
	}
}

// checkVolumeRetry: a volume that could not be mounted is mounted at once, in the turn that waits for it.
func checkVolumeRetry(t *testing.T, l *labtest.Lab) {
	t.Helper()
	p := labtest.BusyboxPod("vol", labtest.Sleep)
	p.Spec.Volumes = []corev1.Volume{{Name: "late", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "late", MountPath: "/late"}}
	l.Create(p)
	failed := 0
	l.UntilEvent("vol", "in a back-off of 16 s", func(e probes.Event) bool {
		if detailed, _ := e.Fields["detailedErr"].(string); e.Step == "vol.domount" && e.Kind == probes.Exit && strings.Contains(detailed, `"late"`) {
			failed++
		}
		return failed == 6 // 0.5 s, doubled five times
	})
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: "default"}, Data: map[string]string{"a": "b"}}
	if _, err := l.Client.CoreV1().ConfigMaps("default").Create(l.Context(), late, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := retry(l, "vol")
	if err != nil || got.Ended.GetStep() != "vol.mount" || got.Ended.Length != nil || got.Ended.Of.GetName() != "volume" {
		t.Fatalf("the answer is %v, %v", got, err)
	}
	l.UntilReady("vol")
	mounts := 0
	for _, e := range l.Story("vol") {
		if e.Seq > got.Seq && e.Step == "vol.domount" && e.Kind == probes.Exit && e.Fields["isRemount"] != true {
			mounts++
		}
	}
	if mounts == 0 {
		t.Error("no mount was tried after the back-off was ended")
	}
}
