//go:build node

package attach_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// TestFollowedLogs: what the kubelet and containerd log is the story of a pod while it lives. A call that the cri probe
// sees, too, is in the story once.
func TestFollowedLogs(t *testing.T) {
	l := shared.For(t)
	for name, probe := range map[string]string{"alone": "log,api", "beside the cri probe": "log,cri,api"} {
		t.Run(name, func(t *testing.T) {
			a := l.Attach("--probe", probe)
			pod := "logged-" + strings.Fields(name)[0]
			l.Create(labtest.BusyboxPod(pod, "sleep 1000"))
			l.UntilReady(pod)
			l.Delete(pod)
			ended := func(step string) func(probes.Event) bool {
				return func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == step && e.DurationNs > 0 }
			}
			l.UntilEvent(pod, "end of the sandbox", ended("cri.StopPodSandbox"))
			l.UntilEvent(pod, "news of the pod in the loop", func(e probes.Event) bool { return e.Step == "loop.add" })
			l.UntilEvent(pod, "its status", func(e probes.Event) bool { return e.Step == "reported.phase" })
			calls, spans := map[string]int{}, map[uint64]bool{}
			for _, e := range l.Story(pod) {
				if strings.HasPrefix(e.Step, "cri.") && e.Kind == probes.Enter && !spans[e.Span] {
					spans[e.Span] = true
					calls[e.Step]++
				}
			}
			for _, step := range []string{"cri.RunPodSandbox", "cri.CreateContainer", "cri.StartContainer", "cri.StopContainer"} {
				if calls[step] != 1 {
					t.Errorf("%s is in the story %d times", step, calls[step])
				}
			}
			a.End(syscall.SIGINT)
			if left := l.AttachTraces(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestBundleWithoutAgent: where no podstep is attached, the bundle of a stuck pod has the node's logs. podstep answers
// from the bundle as on the node, and replays the story that the logs show.
func TestBundleWithoutAgent(t *testing.T) {
	l := shared.For(t)
	pod := labtest.BusyboxPod("bundled", "sleep 1000")
	pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "absent"}}}}
	l.Create(pod)
	path := filepath.Join(t.TempDir(), "bundled.tar.gz")
	const cause = "start.configMapMissing"
	labtest.Eventually(t, cause, func() bool {
		out, _, code := l.Podstep("why", "bundled", "--kubeconfig", l.State.Kubeconfig)
		return code == 3 && strings.Contains(out, cause)
	})
	if out, text, code := l.Podstep("why", "bundled", "--kubeconfig", l.State.Kubeconfig, "--bundle", path); code != 3 || !strings.Contains(out, cause) {
		t.Fatalf("podstep why --bundle ended with code %d: %s%s", code, out, text)
	}
	l.Delete("bundled")
	if out, text, code := l.Podstep("why", "--bundle", path); code != 3 || !strings.Contains(out, cause) {
		t.Errorf("from the bundle, code %d: %s%s", code, out, text)
	}
	out := l.Must("replay", path, "-o", "wide")
	for _, want := range []string{"loop.add", "cri.RunPodSandbox"} {
		if !strings.Contains(out, want) {
			t.Errorf("the story in the bundle has no %s: %s", want, out)
		}
	}
}

// TestFollowedRestart: the log of the next kubelet is followed, too. The calls that went on in the one before are over.
func TestFollowedRestart(t *testing.T) {
	l := shared.For(t)
	a := l.Attach("--probe", "log,api")
	l.Create(labtest.BusyboxPod("logged-before", "sleep 1000"))
	l.UntilReady("logged-before")
	l.KillPart("kubelet", syscall.SIGKILL)
	untilLooks(t, l, a, "log")
	l.Create(labtest.BusyboxPod("logged-after", "sleep 1000"))
	l.UntilReady("logged-after")
	l.UntilEvent("logged-after", "news of the pod in the loop", func(e probes.Event) bool { return e.Step == "loop.add" })
	for _, pod := range []string{"logged-before", "logged-after"} {
		l.Delete(pod)
		l.UntilEvent(pod, "end of its sandbox", func(e probes.Event) bool {
			return e.Kind == probes.Exit && e.Step == "cri.StopPodSandbox"
		})
	}
	a.End(syscall.SIGINT)
}
