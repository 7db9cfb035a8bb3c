package explain

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Add adds to a snapshot what a pod's story says at a position. A pod of which nothing has been seen there has no story.
func Add(to *evidence.Snapshot, s Story, pod int, at Position) {
	if !s.Lives.At(at.At).Pod(pod).Known() {
		return
	}
	r := newReader(s, pod, at)
	var object *corev1.Pod
	var events []evidence.Event
	switch {
	case to.Best() != nil || r.state == life.Gone: // what is gone has no object, whatever was reported of it last
	case r.knows.Reports || r.p.Blocked != history.None:
		object, events = r.reported()
	case r.knows.Turns:
		object = r.objectOfTurns()
	}
	to.AddStory(Seen(s, pod, at), object, events)
}

// reported puts together, from the reports in a pod's story up to a position, the pod's object
// as far as they show it, and its events, oldest first.
func (r *reader) reported() (*corev1.Pod, []evidence.Event) {
	out := &reports{pod: r.podAlone(), seen: map[string]bool{}}
	looked := 0
	r.h.Back(r.pod, r.at, func(_ int, sp *history.Span) bool {
		looked++
		if sp.Enter != history.None && r.h.Reported(sp.Step) {
			if e, ok := r.h.Event(sp.Enter); ok {
				out.add(r.h.Role(sp.Step), &e)
			}
		}
		return looked >= maxLooked
	})
	slices.Reverse(out.events)
	return out.pod, out.events
}

// podAlone returns the pod's object with what its life alone shows.
func (r *reader) podAlone() *corev1.Pod {
	e := r.h.Pod(r.pod).Entity
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: e.Namespace, Name: e.Name, UID: types.UID(e.UID), CreationTimestamp: metav1.NewTime(r.wall(r.p.First)),
	}}
	out.Spec.NodeName = r.node() // an agent sees pods of its own node alone
	out.Status.Phase = corev1.PodPhase(r.p.Phase.String())
	if r.p.Deleting {
		at := metav1.NewTime(r.wall(r.p.DeletedAt))
		out.DeletionTimestamp, out.Finalizers = &at, r.lives.FinalizersOf(r.p)
	}
	return out
}

// reports collects reports, the newest first. Of several about one thing, the newest counts.
type reports struct {
	pod    *corev1.Pod
	events []evidence.Event
	seen   map[string]bool
}

// first reports whether a thing is met for the first time.
func (r *reports) first(key string) bool {
	if r.seen[key] {
		return false
	}
	r.seen[key] = true
	return true
}

func (r *reports) add(role probes.Role, e *probes.Event) {
	field := func(name string) string {
		if text, ok := e.Fields[name].(string); ok {
			return words.Clean(text)
		}
		return words.Short(e.Fields[name])
	}
	at := metav1.NewTime(e.Time)
	if since, err := time.Parse(time.RFC3339, field("since")); err == nil {
		at = metav1.NewTime(since)
	}
	st := &r.pod.Status
	switch role {
	case probes.RoleBound:
		r.pod.Spec.NodeName = cmp.Or(field("node"), r.pod.Spec.NodeName)
		if r.first("bound") && st.StartTime == nil {
			r.pod.CreationTimestamp = at
		}
	case probes.RolePhase:
		if r.first("phase") {
			st.Phase, st.Reason, st.Message = corev1.PodPhase(field("phase")), field("reason"), field("message")
		}
	case probes.RoleCondition:
		if r.first("condition " + field("type")) {
			st.Conditions = append(st.Conditions, corev1.PodCondition{
				Type: corev1.PodConditionType(field("type")), Status: corev1.ConditionStatus(field("status")),
				Reason: field("reason"), Message: field("message"), LastTransitionTime: at,
			})
		}
	case probes.RoleContainerState:
		if r.first("container "+field("container")) && field("container") != "" {
			st.ContainerStatuses = append(st.ContainerStatuses, containerOf(field, at))
			st.StartTime = &at
		}
	case probes.RoleEvent:
		count, _ := strconv.Atoi(field("count"))
		r.events = append(r.events, evidence.Event{
			Kind: "Pod", Name: r.pod.Name, UID: string(r.pod.UID), FieldPath: field("object"), Type: field("type"), Reason: field("reason"),
			Message: field("message"), Component: field("reporter"), First: e.Time, Last: e.Time, Count: max(1, count),
		})
	}
}

// containerOf returns the status of a container as a report has it.
func containerOf(field func(string) string, at metav1.Time) corev1.ContainerStatus {
	number := func(name string) int32 {
		n, _ := strconv.ParseInt(field(name), 10, 32)
		return int32(n)
	}
	out := corev1.ContainerStatus{Name: field("container"), RestartCount: number("restartCount"), Ready: field("ready") == "true"}
	switch field("state") {
	case "waiting":
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: field("reason"), Message: field("message")}
	case "running":
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: at}
	case "terminated":
		out.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: number("exitCode"), Reason: field("reason"), Message: field("message"), FinishedAt: at}
	}
	if field("lastReason") != "" || field("lastExitCode") != "" {
		out.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: number("lastExitCode"), Reason: field("lastReason"), FinishedAt: at}
	}
	return out
}
