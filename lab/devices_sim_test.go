//go:build sim

package lab_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab/dradriver"
	"github.com/podstep/podstep/probes"
)

// tenant makes a claim for one device, and a pod that uses it.
func tenant(t *testing.T, l *labtest.Lab, name string) {
	t.Helper()
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "one", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: dradriver.Name}}}
	if _, err := l.Client.ResourceV1().ResourceClaims("default").Create(l.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := labtest.BusyboxPod(name, `echo "device $PODSTEP_DEVICE"; `+labtest.Sleep)
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "device"}}
	l.Create(pod)
}

// prepared returns how many claims the driver of a lab has prepared.
func prepared(t *testing.T, l *labtest.Lab) int {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(l.Dir, "node", "cdi"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// TestDevices: a pod with a claim gets a device of the lab's driver before its sandbox is made, and gives it back after
// its container has ended. A second pod gets the device only then.
func TestDevices(t *testing.T) {
	l := labtest.StartSim(t, "--devices=1")
	if l.State.Devices != 1 {
		t.Errorf("state.json has %d devices", l.State.Devices)
	}
	tenant(t, l, "first")
	l.UntilReady("first")
	log, err := l.Client.CoreV1().Pods("default").GetLogs("first", &corev1.PodLogOptions{}).Do(l.Context()).Raw()
	if err != nil || string(log) != "device device-0\n" {
		t.Errorf("the container prints %q, %v", log, err)
	}
	tenant(t, l, "second")
	l.Until("second", "waiting for a device", func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "claim")
		})
	})
	if n := prepared(t, l); n != 1 {
		t.Errorf("%d claims are prepared, not 1", n)
	}
	l.Delete("first")
	l.UntilGone("first")
	l.UntilReady("second")
	inOrder(t, l.Story("first"), "rt.dra", "cri.RunPodSandbox", "cri.CreateContainer", "cri.StopContainer", "term.undra", "term.terminated")
	for _, e := range l.Story("second") {
		if e.Step == "cri.CreateContainer" && e.Kind == probes.Enter {
			if request := string(e.Fields["request"].(probes.RawJSON)); !strings.Contains(request, `"podstep.dev/device=`) {
				t.Errorf("the request to the runtime has no device: %s", request)
			}
		}
	}
	l.Delete("second")
	l.UntilGone("second")
	if n := prepared(t, l); n != 0 {
		t.Errorf("%d claims are still prepared", n)
	}
}

// TestDriverDies: without its driver the lab lives on. A claim that was prepared cannot be given back, so its pod does not
// end, and a new pod waits.
func TestDriverDies(t *testing.T) {
	l := labtest.StartSim(t, "--devices=2")
	tenant(t, l, "before")
	l.UntilReady("before")
	if err := syscall.Kill(l.State.Pids["dra-driver"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	tenant(t, l, "after")
	l.UntilEvent("after", "failing for want of a driver", func(e probes.Event) bool {
		return e.Step == "rt.dra" && e.Kind == probes.Exit && strings.Contains(e.Error, "dra.sock: connect")
	})
	l.Delete("before")
	l.UntilEvent("before", "failing to end", func(e probes.Event) bool {
		return e.Step == "term.undra" && e.Kind == probes.Exit && strings.Contains(e.Error, "dra.sock: connect")
	})
	if n := prepared(t, l); n != 1 {
		t.Errorf("%d claims are prepared, not 1", n)
	}
}

// inOrder checks that the steps begin one after the other.
func inOrder(t *testing.T, story []probes.Event, steps ...string) {
	t.Helper()
	for _, e := range story {
		if len(steps) > 0 && e.Kind == probes.Enter && e.Step == steps[0] {
			steps = steps[1:]
		}
	}
	if len(steps) > 0 {
		t.Errorf("the story has no %s in its place", steps[0])
	}
}
