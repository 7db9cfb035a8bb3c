package causes

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
)

// How long a call of the runtime, and a hook, may go on before it is worth a word. Both
// take well below a second as a rule; a hook does work of its own.
const (
	callLong = 45 * time.Second
	hookLong = 20 * time.Second
)

// hangs are the causes of a start that hangs: after one event of the container, and until one of others.
var hangs = []struct {
	id    string
	after string
	until Strings
	long  time.Duration
}{
	{"start.createHangs", "Pulled", Strings{"Created", "Started", "Failed", "BackOff"}, callLong},
	{"start.startHangs", "Created", Strings{"Started", "Failed", "BackOff"}, callLong},
	{"start.postStartHangs", "Started", Strings{"FailedPostStartHook", "Killing", "Failed", "BackOff"}, hookLong},
}

// startGoesOn finds the step of a container's start after which the kubelet says
// nothing more, by the events that it has sent.
func startGoesOn(c *Case) (out []Finding) {
	if !c.in(beforeStart) {
		return nil
	}
	for _, k := range c.containers() {
		w := k.State.Waiting
		if w == nil || w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" || k.LastTerminationState.Terminated != nil {
			continue
		}
		for _, h := range hangs {
			if e := c.containerEvent(h.after, k.Name); e != nil && !c.endedBy(e, h.until) && c.Now.Sub(e.Last) >= h.long && !c.wentOn(e) {
				out = append(out, c.hang(h.id, k, e)...)
			}
		}
	}
	return out
}

// preStartLong is how long the kubelet waits for a device plugin before a container is made.
const preStartLong = 31 * time.Second

// preStart is the call by which it asks.
var preStart = expr(`devicemanager\.\(\*endpointImpl\)\.preStartContainer$`)

// devicePluginHangs finds that the kubelet gathers what a container with a device needs, and does not come back. It asks
// the device plugin there, and works on a few files. Beyond the deadline of the plugin it is a file.
func devicePluginHangs(c *Case) (out []Finding) {
	for _, f := range c.matchGoroutine(Named("start.devicePluginHangs"), &Stack{Func: preStart}) {
		i := slices.IndexFunc(c.containers(), func(k container) bool { return k.State.Waiting != nil && pluggedIn(c.specOf(k.Name)) != "" })
		if i >= 0 {
			f.Subject = c.containers()[i].Name
			f.Args["container"], f.Args["resource"] = f.Subject, pluggedIn(c.specOf(f.Subject))
			out = append(out, f)
		}
	}
	k := c.innermost(answerLong, "GenerateRunContainerOptions")
	if k == nil || !c.Story.Calls || c.Now.Sub(k.Began) > preStartLong {
		return out
	}
	name := c.containerOf(k)
	resource := pluggedIn(c.specOf(name))
	if resource == "" {
		return out
	}
	args := c.callArgs(k)
	args["container"], args["resource"] = name, resource
	return append(out, c.found("start.devicePluginHangs", name, args, Likely, k.Began, c.call(k)))
}

// pluggedIn returns the first resource of a device plugin that a container asks for; empty: it asks for none.
func pluggedIn(k *corev1.Container) string {
	if k == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(k.Resources.Limits)) {
		if domain, _, has := strings.Cut(string(name), "/"); has && domain != "kubernetes.io" && !strings.HasSuffix(domain, ".kubernetes.io") {
			return string(name)
		}
	}
	return ""
}

// betweenTurns reports whether a probe that sees the worker's turns sees none: the worker waits for no hook and no call.
func (c *Case) betweenTurns() bool {
	return c.Story != nil && c.Story.Turns && !slices.ContainsFunc(c.Story.Open, func(k evidence.Call) bool {
		return isCallOf(&k, ofRole(probes.RoleTurn))
	})
}

// runsNoCommand reports whether calls to the runtime are seen, and the start of a container goes on without one: then no command
// of a hook runs.
func (c *Case) runsNoCommand(hook *corev1.LifecycleHandler) bool {
	return hook.Exec != nil && c.innermost(answerLong, "startContainer") != nil && c.Story.Calls
}

func (c *Case) hang(id string, k container, e *evidence.Event) []Finding {
	sure := Possible
	if id == "start.postStartHangs" {
		if spec := c.specOf(k.Name); spec == nil || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil || c.betweenTurns() || c.runsNoCommand(spec.Lifecycle.PostStart) {
			return nil
		}
		sure = Likely
	}
	return []Finding{c.found(id, k.Name, c.imageArgs(k.Name), sure, e.Last, c.event(e), c.waits(k))}
}

// containerEvent returns the last event of a reason about a container of the pod, or nil.
func (c *Case) containerEvent(reason, name string) (last *evidence.Event) {
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if e.Kind == "Pod" && e.Reason == reason && containerOfPath(e.FieldPath) == name && c.counts(e, &EventMatch{Any: true, Fresh: time.Hour}) &&
			(last == nil || !e.Last.Before(last.Last)) {
			last = e
		}
	}
	return last
}

// wentOn reports whether the kubelet came to another container after an event. It starts one
// container after the other, in the order of the spec.
func (c *Case) wentOn(after *evidence.Event) bool {
	place := c.placeOf(containerOfPath(after.FieldPath))
	return slices.ContainsFunc(c.Cluster.Events, func(e evidence.Event) bool {
		other := containerOfPath(e.FieldPath)
		if e.Kind != "Pod" || other == "" || e.FieldPath == after.FieldPath || e.Reason == "Unhealthy" {
			return false
		}
		return e.Last.After(after.Last) || e.Last.Equal(after.Last) && c.placeOf(other) > place
	})
}

// placeOf returns a container's place among all of the pod's, in the order in which they are started.
func (c *Case) placeOf(name string) int {
	if c.Spec == nil {
		return -1
	}
	for i := range c.Spec.Spec.InitContainers {
		if c.Spec.Spec.InitContainers[i].Name == name {
			return i
		}
	}
	for i := range c.Spec.Spec.Containers {
		if c.Spec.Spec.Containers[i].Name == name {
			return len(c.Spec.Spec.InitContainers) + i
		}
	}
	return -1
}
