package causes

import (
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// noticed is how long it may take until the end of a container is in its status: the kubelet looks at the runtime every second, and
// then sends the status.
const noticed = 10 * time.Second

// endsUnseen finds containers that the runtime lists as ended, and that still run by their status.
func endsUnseen(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		r := c.Runtime.Newest(k.Name)
		if k.State.Running == nil || r == nil || r.State != "exited" || !strings.HasSuffix(k.ContainerID, r.ID) || r.Finished.IsZero() || c.Now.Sub(r.Finished) < noticed {
			continue
		}
		args := c.containerArgs(k, "", "")
		args["code"] = strconv.Itoa(int(r.ExitCode))
		out = append(out, c.found("ready.endUnseen", k.Name, args, Certain, r.Finished,
			Evidence{Source: evidence.CRI, Where: ofContainer(k.Name), Text: words.With(words.Text("ended with exit code %d", "已结束，退出码 %d"), int(r.ExitCode)), At: r.Finished},
			c.status(words.With(words.Text("container %s", "容器 %s"), k.Name), words.Same("running"), c.Now)))
	}
	return out
}

// statusBehind finds out whether the kubelet's own status of the pod, from its pods API, is further than that at the API server.
func statusBehind(c *Case) []Finding {
	if c.Pod == nil || c.Kubelet == nil || c.Kubelet.Status == nil || c.Phase == Terminating {
		return nil
	}
	shown := map[string]corev1.ContainerStatus{}
	for _, all := range [][]corev1.ContainerStatus{c.Pod.Status.InitContainerStatuses, c.Pod.Status.ContainerStatuses} {
		for _, s := range all {
			shown[s.Name] = s
		}
	}
	for _, all := range [][]corev1.ContainerStatus{c.Kubelet.Status.InitContainerStatuses, c.Kubelet.Status.ContainerStatuses} {
		for _, has := range all {
			is, at := lastOf(has)
			old, _ := lastOf(shown[has.Name])
			if at.IsZero() || c.Now.Sub(at) < noticed || is == old && has.RestartCount == shown[has.Name].RestartCount || has.RestartCount < shown[has.Name].RestartCount {
				continue
			}
			return []Finding{c.found("ready.statusLate", "", Args{"error": ""}, Certain, at,
				Evidence{Source: evidence.Port, Where: words.With(words.Text("pods API, container %s", "Pods API，容器 %s"), has.Name), Text: words.Same(is), At: at},
				c.status(words.With(words.Text("container %s", "容器 %s"), has.Name), words.Same(old), c.Now))}
		}
	}
	return nil
}

// lastOf returns a container's state in a word, and since when it is so. A container that waits to be started again does so since its
// end; of one that has not run yet, the time is zero.
func lastOf(s corev1.ContainerStatus) (is string, at time.Time) {
	last := s.LastTerminationState.Terminated
	switch {
	case s.State.Running != nil:
		return "running", s.State.Running.StartedAt.Time
	case s.State.Terminated != nil:
		return "terminated", s.State.Terminated.FinishedAt.Time
	case last != nil:
		return "waiting", last.FinishedAt.Time
	}
	return "waiting", time.Time{}
}
