package causes

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// initChecks are the checks of table/init.yaml.
var initChecks = []check{initGoesOn, initCrashes, initFailed, initAgain, initWaitsFor}

// initLong is how long an init container may run before it is worth a word.
const initLong = 5 * time.Minute

// inits returns the pod's init containers, if they have not all come to an end.
func (c *Case) inits() (out []container) {
	if c.Spec == nil || c.Phase == Terminating || c.Phase == Ended || c.Phase == Refused || conditionIs(c.Spec, corev1.PodInitialized, corev1.ConditionTrue) {
		return nil
	}
	for _, k := range c.containers() {
		if k.kind == "init" {
			out = append(out, k)
		}
	}
	return out
}

// initArgs returns the arguments of an init container, with its place.
func (c *Case) initArgs(k container, t *corev1.ContainerStateTerminated) Args {
	args := c.endArgs(k, t)
	args["n"], args["m"] = strconv.Itoa(c.placeOf(k.Name)+1), strconv.Itoa(len(c.Spec.Spec.InitContainers))
	if args["limit"] == "" {
		args["limit"] = "-"
	}
	return args
}

// initGoesOn finds init containers that run for long, and sidecars whose startup probe
// does not succeed.
func initGoesOn(c *Case) (out []Finding) {
	for _, k := range c.inits() {
		r := k.State.Running
		if r == nil || r.StartedAt.IsZero() {
			continue
		}
		up := c.Now.Sub(r.StartedAt.Time)
		shown := []Evidence{c.status(words.With(words.Text("container %s running", "容器 %s 运行中"), k.Name), words.With(words.Text("since %s", "自 %s"), r.StartedAt.UTC().Format(time.TimeOnly)), r.StartedAt.Time)}
		switch {
		case !c.isSidecar(k.Name) && up >= initLong:
			out = append(out, c.found("init.runs", k.Name, c.initArgs(k, nil), Likely, r.StartedAt.Time, shown...))
		case c.isSidecar(k.Name) && (k.Started == nil || !*k.Started) && c.hasStartupProbe(k.Name):
			e := c.containerEvent("Unhealthy", k.Name)
			if e != nil && e.Last.Before(r.StartedAt.Time) {
				e = nil
			}
			if up < time.Minute && (e == nil || e.Count < 3) {
				continue
			}
			if e != nil {
				shown = append(shown, c.event(e))
			}
			out = append(out, c.found("init.sidecarNotStarted", k.Name, c.initArgs(k, nil), Certain, r.StartedAt.Time, shown...))
		}
	}
	return out
}

func (c *Case) hasStartupProbe(name string) bool {
	k := c.specOf(name)
	return k != nil && k.StartupProbe != nil
}

// initCrashes finds init containers that fail again and again.
func initCrashes(c *Case) (out []Finding) {
	for _, k := range c.inits() {
		t, sure := c.crash(k)
		if c.isSidecar(k.Name) || sure == "" || t == nil || neverRan(t) || t.ExitCode == 0 {
			continue
		}
		id := "init.crashLoop"
		if t.Reason == "OOMKilled" {
			id = "init.oomKilled"
		}
		shown := []Evidence{c.ended(k, t)}
		if k.State.Waiting != nil {
			shown = append(shown, c.waits(k))
		}
		f := c.found(id, k.Name, c.initArgs(k, t), sure, t.FinishedAt.Time, shown...)
		f.Next = c.nextTry(k)
		out = append(out, f)
	}
	return out
}

// initFailed finds the init container that made a pod fail for good.
func initFailed(c *Case) (out []Finding) {
	if c.Spec == nil || c.Phase != Ended || c.Spec.Status.Phase != corev1.PodFailed || c.Spec.Status.Reason != "" || c.Spec.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return nil
	}
	for _, k := range c.containers() {
		t := k.State.Terminated
		if k.kind != "init" || t == nil || t.ExitCode == 0 || neverRan(t) || c.isSidecar(k.Name) {
			continue
		}
		out = append(out, c.found("init.failed", k.Name, c.initArgs(k, t), Certain, t.FinishedAt.Time, c.ended(k, t)))
	}
	return out
}

// initAgain finds init containers that run once more, after the app containers had
// already been started, because of a new sandbox.
func initAgain(c *Case) (out []Finding) {
	e := c.sandboxChanged()
	if e == nil || c.Phase != Starting || c.Now.Sub(e.Last) < 30*time.Second {
		return nil
	}
	for _, k := range c.inits() {
		if k.State.Running != nil && !c.isSidecar(k.Name) {
			out = append(out, c.found("init.again", k.Name, c.initArgs(k, nil), Likely, e.Last, c.event(e)))
		}
	}
	return out
}

// sandboxChanged returns the event by which the kubelet reports a new sandbox.
func (c *Case) sandboxChanged() *evidence.Event {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		if e := &c.Cluster.Events[i]; e.Kind == "Pod" && e.Reason == "SandboxChanged" && c.counts(e, &EventMatch{Any: true, Fresh: time.Hour}) {
			return e
		}
	}
	return nil
}

// initIdle is how long the kubelet may say nothing about an init container whose turn it is.
const initIdle = 2 * time.Minute

// initWaitsFor finds an init container that cannot be started, or is not started, and says
// which one of how many it is.
func initWaitsFor(c *Case) (out []Finding) {
	for _, k := range c.inits() {
		w := k.State.Waiting
		switch {
		case c.isThrough(k):
			continue
		case w == nil || c.Age() < 30*time.Second && passing.in(w.Message, Args{}):
			return nil
		}
		sure := Certain
		if w.Reason == "PodInitializing" || w.Reason == "ContainerCreating" || w.Reason == "" {
			if c.Phase != Init || c.Age() < initIdle {
				return nil
			}
			sure = Possible
		}
		args := c.initArgs(k, k.LastTerminationState.Terminated)
		args["reason"] = w.Reason
		return []Finding{c.found("init.waitsFor", k.Name, args, sure, c.Since, c.waits(k))}
	}
	return nil
}

// isThrough reports whether the kubelet goes on to what comes after an init container.
func (c *Case) isThrough(k container) bool {
	if c.isSidecar(k.Name) {
		return k.State.Running != nil && k.Started != nil && *k.Started
	}
	return k.State.Terminated != nil && k.State.Terminated.ExitCode == 0
}
