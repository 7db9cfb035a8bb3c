package causes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// Phase is how far a pod has come. It is finer than the API's phase: most causes
// belong to one.
type Phase string

// The phases, in the order in which a pod goes through them.
const (
	Missing     Phase = "missing"     // there is no such pod
	Unscheduled Phase = "unscheduled" // it has no node
	Bound       Phase = "bound"       // it has a node, whose kubelet has not reported it
	Creating    Phase = "creating"    // the kubelet has it; no container has been started in its sandbox
	Init        Phase = "init"        // its init containers run
	Starting    Phase = "starting"    // not all of its containers run
	Unready     Phase = "unready"     // they run, and it is not ready
	Ready       Phase = "ready"
	Ended       Phase = "ended"  // all containers have ended, and are not started again
	Refused     Phase = "failed" // it failed without having run: refused or evicted
	Terminating Phase = "terminating"
	// These are no phases of a pod: the question is about an object of that kind.
	OnNode      Phase = "node"
	OnNamespace Phase = "namespace"
	OnClaim     Phase = "claim"
	OnService   Phase = "service"
)

var phases = []Phase{Missing, Unscheduled, Bound, Creating, Init, Starting, Unready, Ready, Ended, Refused, Terminating, OnNode, OnNamespace, OnClaim, OnService}

// phaseWords are the phases in Chinese; in English they are what they are called here.
var phaseWords = map[Phase]string{
	Missing: "不存在", Unscheduled: "未调度", Bound: "已绑定", Creating: "创建中", Init: "初始化中", Starting: "启动中", Unready: "未就绪",
	OnNode: "节点", OnNamespace: "命名空间", OnClaim: "声明", OnService: "服务", Ready: "就绪", Ended: "已结束", Refused: "失败", Terminating: "终止中",
}

// In returns the phase in a reader's language.
func (p Phase) In(l words.Lang) string {
	return l.In(words.Text(string(p), cmp.Or(phaseWords[p], string(p))))
}

// phaseOf returns how far a pod has come, and since when.
func phaseOf(p *corev1.Pod, now time.Time) (Phase, time.Time) {
	if p == nil {
		return Missing, now
	}
	created := p.CreationTimestamp.Time
	switch {
	case p.DeletionTimestamp != nil:
		return Terminating, deletedAt(p)
	case p.Status.Phase == corev1.PodFailed && !everStarted(p):
		return Refused, endedAt(p, created)
	case p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded:
		return Ended, endedAt(p, created)
	case p.Spec.NodeName == "":
		return Unscheduled, created
	case p.Status.StartTime == nil && len(p.Status.ContainerStatuses) == 0:
		return Bound, latest(created, conditionSince(p, corev1.PodScheduled))
	}
	return runningPhase(p, latest(created, startTime(p)))
}

// phaseOfStory returns how far a pod has come if only its story is known.
func phaseOfStory(s *evidence.Story) Phase {
	switch {
	case s.State == "gone" || s.State == "done":
		return Ended
	case s.Deleting:
		return Terminating
	case s.State == "running":
		return Ready
	case s.Phase == string(corev1.PodRunning) && s.State == "waiting":
		return Unready
	case s.Phase == string(corev1.PodRunning):
		return Starting
	}
	return Creating
}

// runningPhase returns the phase of a pod that the kubelet has.
func runningPhase(p *corev1.Pod, since time.Time) (Phase, time.Time) {
	if conditionIs(p, corev1.PodReady, corev1.ConditionTrue) {
		return Ready, latest(since, conditionSince(p, corev1.PodReady))
	}
	if at, ok := lastStart(p.Status.ContainerStatuses); ok {
		if allRun(p.Status.ContainerStatuses) {
			return Unready, latest(latest(since, at), latest(conditionSince(p, corev1.PodReady), conditionSince(p, corev1.ContainersReady)))
		}
		return Starting, latest(since, at)
	}
	if len(p.Spec.InitContainers) > 0 && !conditionIs(p, corev1.PodInitialized, corev1.ConditionTrue) {
		if at, ok := lastStart(p.Status.InitContainerStatuses); ok {
			return Init, latest(since, at)
		}
	}
	return Creating, since
}

// lastStart returns when one of these containers was started last; ok is false if none was.
func lastStart(all []corev1.ContainerStatus) (at time.Time, ok bool) {
	for _, c := range all {
		for _, s := range []corev1.ContainerState{c.State, c.LastTerminationState} {
			switch {
			case s.Running != nil:
				at, ok = latest(at, s.Running.StartedAt.Time), true
			case s.Terminated != nil:
				at, ok = latest(at, s.Terminated.StartedAt.Time), true
			}
		}
	}
	return at, ok
}

func allRun(all []corev1.ContainerStatus) bool {
	for _, c := range all {
		if c.State.Running == nil && (c.State.Terminated == nil || c.State.Terminated.ExitCode != 0) {
			return false
		}
	}
	return len(all) > 0
}

func everStarted(p *corev1.Pod) bool {
	_, ok := lastStart(p.Status.ContainerStatuses)
	_, init := lastStart(p.Status.InitContainerStatuses)
	return ok || init
}

// deletedAt returns when somebody asked for the pod's deletion. The time in the pod's metadata
// is when its grace ends.
func deletedAt(p *corev1.Pod) time.Time {
	at := p.DeletionTimestamp.Time
	if g := p.DeletionGracePeriodSeconds; g != nil {
		at = at.Add(-time.Duration(*g) * time.Second)
	}
	return at
}

func endedAt(p *corev1.Pod, created time.Time) time.Time {
	at := created
	for _, all := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range all {
			if t := c.State.Terminated; t != nil {
				at = latest(at, t.FinishedAt.Time)
			}
		}
	}
	return latest(at, conditionSince(p, corev1.PodReady))
}

func startTime(p *corev1.Pod) time.Time {
	if p.Status.StartTime == nil {
		return time.Time{}
	}
	return p.Status.StartTime.Time
}

// condition returns one of a pod's conditions, or nil.
func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	return evidence.ConditionIn(&p.Status, t)
}

func conditionIs(p *corev1.Pod, t corev1.PodConditionType, s corev1.ConditionStatus) bool {
	c := condition(p, t)
	return c != nil && c.Status == s
}

func conditionSince(p *corev1.Pod, t corev1.PodConditionType) time.Time {
	if c := condition(p, t); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
