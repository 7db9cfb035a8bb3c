package explain

import (
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// failedTo matches one failure in the error of a turn, as the kubelet writes a PodSyncResult: the action, the container,
// the waiting reason, and the quoted message.
var failedTo = regexp.MustCompile(`failed to "(\w+)" for "([^"]*)" with (\w+)(?:: ("(?:[^"\\]|\\.)*"))?`)

// objectOfTurns returns the pod's object as far as the turns of its worker show it: the containers that the last turn
// could not start, and those that run again after a crash loop. The kubelet gives a turn's error and the container's
// waiting reason out of one result, so the object has what the API server gets to see. It is nil if there is no such
// container.
func (r *reader) objectOfTurns() *corev1.Pod {
	waiting := r.waitingContainers()
	var list []corev1.ContainerStatus
	for i := range r.p.Containers {
		t := &r.p.Containers[i]
		st := corev1.ContainerStatus{Name: words.OneLine(t.Name), RestartCount: max(0, t.Restarts)}
		switch w, ok := waiting[t.Name]; {
		case ok:
			st.State.Waiting = &w
		case !r.upAgain(t).IsZero():
			st.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(r.wall(t.Up))}
		default:
			continue
		}
		if st.RestartCount > 0 || st.State.Waiting == nil || st.State.Waiting.Reason == crashLoop {
			st.LastTerminationState.Terminated = r.lastEnd(t.Name)
		}
		list = append(list, st)
	}
	if list == nil {
		return nil
	}
	out := r.podAlone()
	out.Status.StartTime, out.Status.ContainerStatuses = &out.CreationTimestamp, list
	return out
}

// crashLoop is the waiting reason of a container that ended again and again.
const crashLoop = "CrashLoopBackOff"

// waitingContainers returns the waiting states of the containers that the last turn could not start, by the containers' names.
func (r *reader) waitingContainers() map[string]corev1.ContainerStateWaiting {
	e, ok := r.h.Event(r.p.Failed)
	if !ok {
		return nil
	}
	out := map[string]corev1.ContainerStateWaiting{}
	for _, m := range failedTo.FindAllStringSubmatch(e.Error, -1) {
		message, err := strconv.Unquote(m[4])
		if err != nil {
			message = m[4]
		}
		out[m[2]] = corev1.ContainerStateWaiting{Reason: m[3], Message: words.OneLine(message)}
	}
	return out
}

// lastEnd returns how the last container of a name ended that has ended; nil: no probe saw that.
func (r *reader) lastEnd(name string) *corev1.ContainerStateTerminated {
	ids := map[string]bool{}
	r.lastCall(probes.RoleCreate, func(call *history.Call) bool {
		if call.Text("container") == name {
			ids[call.Text("containerID")] = true
		}
		return false
	})
	last, ok := r.lastCall(probes.RoleContainerStatus, func(call *history.Call) bool {
		return ids[call.Text("containerID")] && call.Text("state") == "CONTAINER_EXITED"
	})
	code, known := last.Number("exitCode")
	if !ok || !known {
		return nil
	}
	return &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: words.OneLine(last.Text("reason")), FinishedAt: metav1.NewTime(r.wall(last.End))}
}
