package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reported makes the reports of what is new in the pod's status. old is nil if nothing was reported before.
func (h *observation) reported(old *v1.Pod) []Report {
	var was v1.PodStatus
	if old != nil {
		was = old.Status
	}
	var out []Report
	// One status brings several changes; this is the order in which they happen.
	out = append(out, h.conditions(&was, beforeContainers)...)
	out = append(out, h.addresses(&was)...)
	out = append(out, h.containers(&was)...)
	out = append(out, h.phase(&was)...)
	out = append(out, h.conditions(&was, afterContainers)...)
	if h.from == fromObject {
		slices.SortStableFunc(out, func(a, b Report) int { return a.At.Compare(b.At) })
	}
	return out
}

func (h *observation) phase(was *v1.PodStatus) []Report {
	is := &h.pod.Status
	if is.Phase == "" || is.Phase == was.Phase && is.Reason == was.Reason {
		return nil
	}
	s := h.report(stepPhase, phaseAt(h.pod), string(is.Phase), some(is.Reason), words(is.Message))
	if is.Phase == v1.PodFailed {
		s.Err = because("the pod failed", is.Reason, is.Message)
	}
	return []Report{s}
}

// phaseAt returns when the pod entered its phase, as far as its containers state it: phases have no time of their
// own.
func phaseAt(p *v1.Pod) time.Time {
	begun := p.CreationTimestamp.Time
	if p.Status.StartTime != nil {
		begun = p.Status.StartTime.Time
	}
	if p.Status.Phase == v1.PodPending {
		return begun
	}
	var first, last time.Time
	for _, c := range p.Status.ContainerStatuses {
		for _, st := range []v1.ContainerState{c.LastTerminationState, c.State} {
			start, end := span(st)
			if !start.IsZero() && (first.IsZero() || start.Before(first)) {
				first = start
			}
			if end.After(last) {
				last = end
			}
		}
	}
	if p.Status.Phase == v1.PodRunning && !first.IsZero() {
		return first
	}
	if p.Status.Phase != v1.PodRunning && !last.IsZero() {
		return last
	}
	return begun
}

// span returns when a container started and ended.
func span(s v1.ContainerState) (start, end time.Time) {
	switch {
	case s.Terminated != nil:
		return s.Terminated.StartedAt.Time, s.Terminated.FinishedAt.Time
	case s.Running != nil:
		return s.Running.StartedAt.Time, time.Time{}
	}
	return time.Time{}, time.Time{}
}

// conditionOrder has the order in which a pod's conditions come true. The first three come before its containers.
// Conditions that are not named come behind these three.
var conditionOrder = map[v1.PodConditionType]int{
	v1.PodScheduled: 1, v1.PodReadyToStartContainers: 2, v1.PodInitialized: 3, v1.ContainersReady: 5, v1.PodReady: 6,
}

const otherCondition = 4

func orderOf(c *v1.PodCondition) int { return cmp.Or(conditionOrder[c.Type], otherCondition) }

func beforeContainers(c *v1.PodCondition) bool { return orderOf(c) < otherCondition }
func afterContainers(c *v1.PodCondition) bool  { return !beforeContainers(c) }

func (h *observation) conditions(was *v1.PodStatus, which func(*v1.PodCondition) bool) (out []Report) {
	sorted := slices.Clone(h.pod.Status.Conditions)
	slices.SortStableFunc(sorted, func(a, b v1.PodCondition) int { return orderOf(&a) - orderOf(&b) })
	for _, c := range sorted {
		if !which(&c) {
			continue
		}
		i := slices.IndexFunc(was.Conditions, func(o v1.PodCondition) bool { return o.Type == c.Type })
		if i >= 0 && sameCondition(&was.Conditions[i], &c) {
			continue
		}
		out = append(out, h.reportDated(stepCondition, c.LastTransitionTime.Time, string(c.Type), string(c.Status), some(c.Reason), words(c.Message)))
	}
	return out
}

// sameCondition does not compare the time of the last probe, at which nothing changed.
func sameCondition(a, b *v1.PodCondition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

func (h *observation) addresses(was *v1.PodStatus) []Report {
	is := addresses(&h.pod.Status)
	if len(is) == 0 || slices.Equal(is, addresses(was)) {
		return nil
	}
	var at time.Time
	if t := h.pod.Status.StartTime; t != nil {
		at = t.Time
	}
	return []Report{h.report(stepIP, at, is)}
}

func addresses(s *v1.PodStatus) (out []string) {
	for _, ip := range s.PodIPs {
		out = append(out, ip.IP)
	}
	if len(out) == 0 && s.PodIP != "" {
		out = append(out, s.PodIP)
	}
	return out
}

func (h *observation) containers(was *v1.PodStatus) (out []Report) {
	is := &h.pod.Status
	for _, lists := range [][2][]v1.ContainerStatus{
		{was.InitContainerStatuses, is.InitContainerStatuses},
		{was.ContainerStatuses, is.ContainerStatuses},
		{was.EphemeralContainerStatuses, is.EphemeralContainerStatuses},
	} {
		for i := range lists[1] {
			c := &lists[1][i]
			o := slices.IndexFunc(lists[0], func(o v1.ContainerStatus) bool { return o.Name == c.Name })
			switch {
			case o >= 0 && sameContainer(&lists[0][o], c):
			case h.from == fromObject && o < 0:
				out = append(out, h.past(c)...)
			default:
				out = append(out, h.container(c, &c.State))
			}
		}
	}
	return out
}

// sameContainer does not compare fields that change although nothing has happened.
func sameContainer(a, b *v1.ContainerStatus) bool {
	return a.Ready == b.Ready && a.RestartCount == b.RestartCount && sameState(&a.State, &b.State)
}

func sameState(a, b *v1.ContainerState) bool {
	switch {
	case a.Waiting != nil && b.Waiting != nil:
		return a.Waiting.Reason == b.Waiting.Reason && a.Waiting.Message == b.Waiting.Message
	case a.Running != nil && b.Running != nil:
		return a.Running.StartedAt.Equal(&b.Running.StartedAt)
	case a.Terminated != nil && b.Terminated != nil:
		return a.Terminated.ExitCode == b.Terminated.ExitCode && a.Terminated.Reason == b.Terminated.Reason &&
			a.Terminated.FinishedAt.Equal(&b.Terminated.FinishedAt)
	}
	return *a == *b
}

// past reports a container's past from its status: its last run's start and end, then its present run's start and its
// state now.
func (h *observation) past(c *v1.ContainerStatus) (out []Report) {
	began := func(at time.Time, restarts int32) {
		if at.IsZero() {
			return
		}
		before := &v1.ContainerStatus{Name: c.Name, RestartCount: restarts}
		out = append(out, h.container(before, &v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.NewTime(at)}}))
	}
	if last := c.LastTerminationState.Terminated; last != nil {
		restarts := c.RestartCount
		if c.State.Waiting == nil {
			restarts-- // it was started again since
		}
		began(last.StartedAt.Time, restarts)
		before := &v1.ContainerStatus{Name: c.Name, RestartCount: restarts}
		out = append(out, h.container(before, &c.LastTerminationState))
	}
	if ended := c.State.Terminated; ended != nil {
		began(ended.StartedAt.Time, c.RestartCount)
	}
	return append(out, h.container(c, &c.State))
}

// container makes the report of one state of a container.
func (h *observation) container(c *v1.ContainerStatus, st *v1.ContainerState) Report {
	var state, reason, message, err string
	var exitCode, lastReason, lastExitCode, init any
	var at time.Time
	switch {
	case st.Running != nil:
		state, at = "running", st.Running.StartedAt.Time
	case st.Terminated != nil:
		t := st.Terminated
		// Its message is left out: it is the container's own output, and may be anything.
		state, reason, at, exitCode = "terminated", t.Reason, t.FinishedAt.Time, int64(t.ExitCode)
		if t.ExitCode != 0 {
			err = because(fmt.Sprintf("%s ended with exit code %d", c.Name, t.ExitCode), reason, "")
		}
	default:
		state = "waiting"
		if w := st.Waiting; w != nil {
			reason, message = w.Reason, w.Message
		}
		if !beginning[reason] {
			err = because(c.Name+" cannot start", reason, message)
		}
		if last := c.LastTerminationState.Terminated; last != nil {
			at = last.FinishedAt.Time
		} else if t := h.pod.Status.StartTime; t != nil {
			at = t.Time
		}
	}
	if last := c.LastTerminationState.Terminated; last != nil {
		lastReason, lastExitCode = some(last.Reason), int64(last.ExitCode)
	}
	if slices.ContainsFunc(h.pod.Spec.InitContainers, func(i v1.Container) bool { return i.Name == c.Name }) {
		init = true
	}
	s := h.report(stepContainer, at, c.Name, state, some(reason), words(message), exitCode, int64(c.RestartCount), c.Ready, lastReason, lastExitCode, init)
	s.Err = err
	return s
}

// beginning has the reasons for which every container waits at first.
var beginning = map[string]bool{"": true, "ContainerCreating": true, "PodInitializing": true}

// because makes an error's text. The reason and the message may be empty.
func because(what, reason, message string) string {
	if reason != "" {
		what += " (" + reason + ")"
	}
	if message != "" {
		what += ": " + message
	}
	return what
}
