package causes

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
)

// stateOf returns the verdict on the pod, and since when it holds. A pod with a story has the verdict of package life, on
// every surface. Of a pod without one, its object tells as much, by the same words and the same times.
func (c *Case) stateOf() (life.State, time.Time) {
	if c.Story != nil {
		s, _ := life.StateNamed(c.Story.State)
		return s, c.Story.Since
	}
	switch c.Phase {
	case Missing:
		return c.stateOfOwner()
	case OnNode, OnNamespace, OnClaim, OnService:
		return c.stateOfObject()
	case Terminating:
		return c.stateOfEnding()
	case Ended, Refused:
		return life.Done, c.Since
	case Unscheduled, Bound:
		return c.onWay(c.Since, life.StuckAfter)
	}
	if from, bad := c.trouble(); bad {
		if c.Now.Sub(from) > life.StuckRetrying {
			return life.Stuck, from
		}
		return life.Retrying, from
	}
	switch c.Phase {
	case Ready:
		return life.Idle, latest(c.Since, c.restarted())
	case Unready, Init:
		if c.worksOn() {
			return life.Idle, c.Since
		}
		return c.onWay(c.Since, c.longest(life.StuckWaiting))
	}
	if c.Age() > life.StuckRetrying {
		return life.Stuck, c.Since
	}
	return life.Working, c.Since
}

// onWay returns the verdict on a pod that waits for what normally comes, and since when.
func (c *Case) onWay(from time.Time, longest time.Duration) (life.State, time.Time) {
	if c.Now.Sub(from) > longest {
		return life.Stuck, from
	}
	return life.Waiting, from
}

// stateOfEnding is stateOf for a pod that is being deleted.
func (c *Case) stateOfEnding() (life.State, time.Time) {
	if grace := c.Spec.DeletionGracePeriodSeconds; grace != nil && *grace == 0 && len(c.Spec.Finalizers) > 0 && len(c.running()) == 0 {
		return c.onWay(c.Since, life.StuckAfter) // the node has done its part
	}
	if c.Age() > c.longest(life.StuckEnding) {
		return life.Stuck, c.Since
	}
	return life.Working, c.Since
}

// trouble returns since when something fails for the pod again and again; bad is false if nothing does.
func (c *Case) trouble() (from time.Time, bad bool) {
	for _, k := range c.containers() {
		if k.kind == "ephemeral" {
			continue
		}
		if at, fails := c.containerFails(&k); fails && (!bad || at.Before(from)) {
			from, bad = at, true
		}
	}
	if bad || c.Phase != Creating {
		return from, bad
	}
	return c.warned()
}

// containerFails reports whether a container cannot start, or ends again and again, and since when.
func (c *Case) containerFails(k *container) (from time.Time, fails bool) {
	switch s := k.State; {
	case s.Waiting != nil && life.IsFailure(s.Waiting.Reason):
	case s.Terminated != nil && s.Terminated.ExitCode != 0 && k.RestartCount > 0 && c.restarts(s.Terminated.ExitCode):
	case s.Running != nil && k.RestartCount >= restartsInLoop && k.LastTerminationState.Terminated != nil &&
		c.Now.Sub(s.Running.StartedAt.Time) <= life.BackOffReset && k.LastTerminationState.Terminated.ExitCode != 0:
	default:
		return from, false
	}
	return c.failsSince(k), true
}

// failsSince returns since when a container fails, as well as its status and its events show: the first event of the
// trouble, else the oldest end that is known, else since when the pod is on its way.
func (c *Case) failsSince(k *container) time.Time {
	from := c.Now
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if e.Type == corev1.EventTypeWarning && slices.Contains(failing, e.Reason) && c.ofPod(e) && e.FieldPath == "spec.containers{"+k.Name+"}" && !e.First.IsZero() {
			from = earliest(from, e.First)
		}
	}
	for _, s := range []corev1.ContainerState{k.LastTerminationState, k.State} {
		if s.Terminated != nil && !s.Terminated.FinishedAt.IsZero() {
			from = earliest(from, s.Terminated.FinishedAt.Time)
		}
	}
	if from.Equal(c.Now) {
		return c.Since
	}
	return from
}

// failing are the reasons of the events with which the kubelet reports that it cannot start a container.
var failing = []string{"BackOff", "Failed", "FailedPostStartHook", "Unhealthy"}

// warned returns since when there are warnings about a pod that no progress has followed; some is false if there are none.
func (c *Case) warned() (from time.Time, some bool) {
	for _, e := range c.openWarnings() {
		if at := latest(cmp.Or(e.First, e.Last), c.Since); !some || at.Before(from) {
			from, some = at, true
		}
	}
	return from, some
}

// openWarnings returns the warnings about a pod that no progress has followed, in the order of the events. An operation on
// a volume that went well at its next try makes no event.
func (c *Case) openWarnings() (out []*evidence.Event) {
	progress := c.lastEvent("Pulled", "Created", "Started")
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if e.Type == corev1.EventTypeWarning && e.Reason != "FailedScheduling" && c.ofPod(e) && e.Last.After(progress) && !(ofVolume(e) && c.operationOver(e)) {
			out = append(out, e)
		}
	}
	return out
}

// restarted returns when a container of the pod was last started again; zero: none was.
func (c *Case) restarted() (at time.Time) {
	for _, k := range c.containers() {
		if k.State.Running != nil && k.RestartCount > 0 {
			at = latest(at, k.State.Running.StartedAt.Time)
		}
	}
	return at
}

// stateOfOwner is stateOf for an owner, which has no pod of its own: it waits while it has fewer pods than it wants.
func (c *Case) stateOfOwner() (life.State, time.Time) {
	if len(c.Cluster.Owners) == 0 {
		return life.Waiting, c.Now
	}
	o := &c.Cluster.Owners[0]
	if state, from, ok := c.stateOfSchedule(); ok {
		return state, from
	}
	if !o.Lacks() && !o.Behind() {
		return life.Idle, c.ownerSince(o)
	}
	return c.onWay(c.ownerSince(o), life.StuckAfter)
}

// stateOfNode is stateOf for a node: it waits until its kubelet reports it as ready, as its lease goes on showing.
func (c *Case) stateOfNode() (life.State, time.Time) {
	k := c.nodeReady()
	at, ok := c.renewed()
	switch {
	case k == nil || k.Status != "True":
		return c.onWay(c.Since, life.StuckAfter)
	case ok && c.Now.Sub(at) > leaseLasts+slack:
		return c.onWay(at, life.StuckAfter)
	}
	return life.Idle, c.Since
}

// ownerSince returns since when an owner is as it is, by its conditions, its events and its age; the present if none tells.
func (c *Case) ownerSince(o *evidence.Owner) time.Time {
	at := o.Created
	for i := range o.Conditions {
		at = latest(at, o.Conditions[i].Since)
	}
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; e.Kind == o.Kind && e.Name == o.Name {
			at = latest(at, cmp.Or(e.First, e.Last))
		}
	}
	if at.IsZero() {
		return c.Now
	}
	return at
}
