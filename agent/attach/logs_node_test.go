//go:build node

package attach_test

import (
	"strings"
	"syscall"
	"testing"

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
