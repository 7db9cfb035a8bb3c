package causes

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// notRunning is how the runtime refuses to run a command in a container that does not run, as containerd and CRI-O write it.
var notRunning = expr(`container is (?:in CONTAINER_(EXITED|CREATED|UNKNOWN) state|not created or running)`)

const (
	// For contradictsFor a container may have ended without the kubelet knowing: it looks every second.
	contradictsFor = 5 * time.Second
	// A refusal of the last refusedNow is one of now, since health probes ask often; an event of one counts for longer, because the
	// kubelet drops most of many equal events.
	refusedNow   = 15 * time.Second
	refusedEvent = 6 * time.Minute
)

// contradictions finds containers that the kubelet reports as running, and in which the runtime runs no command because they do not.
// While the kubelet looks at the pod and waits for an answer, the last one may be old.
func contradictions(c *Case) (out []Finding) {
	if len(c.openCalls(ofRole(probes.RoleContainerStatus)))+len(c.openCalls(ofFunction("updateCache"))) > 0 {
		return nil
	}
	for _, k := range c.containers() {
		if k.State.Running == nil {
			continue
		}
		e := c.refusedCommand(k)
		if e == nil || e.Count < 3 || e.Last.Sub(e.First) < contradictsFor || c.Now.Sub(e.Last) > refusedEvent {
			continue
		}
		sure := Likely
		shown := []Evidence{c.event(e), c.status(words.With(words.Text("container %s", "容器 %s"), k.Name), words.Same("running"), c.Now)}
		if f := c.refusedCall(k); f != nil {
			sure = Certain
			shown = append(shown, c.call(f))
		}
		args := c.containerArgs(k, "", "")
		args["state"] = cmp.Or(notRunning.FindStringSubmatch(e.Message)[1], "not running")
		out = append(out, c.found("ready.runtimeContradicts", k.Name, args, sure, e.First, shown...))
	}
	return out
}

// refusedCommand returns the newest event of a container that runs whose health probe could not be run; nil: there is none.
func (c *Case) refusedCommand(k container) *evidence.Event {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if e.Reason == "Unhealthy" && e.Type != corev1.EventTypeNormal && c.ofPod(e) && containerOfPath(e.FieldPath) == k.Name &&
			!e.First.Before(k.State.Running.StartedAt.Time) && notRunning.MatchString(e.Message) {
			return e
		}
	}
	return nil
}

// refusedCall returns the last call that ran a command in a container, if the runtime refuses that now; nil: it does not.
func (c *Case) refusedCall(k container) *evidence.Call {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Failed {
		f := &c.Story.Failed[i]
		if of := c.containerOf(f); (of == "" || of == k.Name) && notRunning.MatchString(f.Error) && c.Now.Sub(f.Began) < refusedNow {
			return f
		}
	}
	return nil
}
