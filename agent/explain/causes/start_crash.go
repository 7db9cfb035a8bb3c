package causes

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// exits are the causes for exit codes that mean something.
var exits = map[int32]string{
	0: "start.completes", 2: "start.exitsUsage", 126: "start.exitsNotExecutable", 127: "start.exitsNotFound", 134: "start.exitsAborted",
	137: "start.exitsKilled", 139: "start.exitsSegfault", 143: "start.exitsTerminated",
}

// guessed are the exit codes whose meaning is a habit of programs, or which somebody else's signal leads to as well.
var guessed = map[int32]bool{2: true, 126: true, 127: true, 137: true, 143: true}

// crashes finds containers that end again and again, by how they ended last. initCrashes finds
// the init containers that have to come to an end.
func crashes(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		if k.kind == "ephemeral" || k.kind == "init" && !c.isSidecar(k.Name) {
			continue
		}
		t, sure := c.crash(k)
		switch {
		case sure == "":
		case t == nil && c.failedStart(k) == nil:
			out = append(out, c.crashed("start.crashLoop", k, nil, sure))
		case c.failedStart(k) != nil || neverRan(t) || c.hookFailed(k, t) || c.probeKill(k, t) != nil:
			// The table's matches have it, or the checks of health probes and of failed starts.
		case c.stoppingOf(k.Name, t) != nil:
			f := c.crashed("start.stopped", k, t, Likely)
			f.Evidence = append(f.Evidence, c.event(c.stoppingOf(k.Name, t)))
			out = append(out, f)
		case c.hookFailsAgain(k, t) != nil:
			out = append(out, c.hookFailsAgain(k, t)...)
		default:
			if guessed[t.ExitCode] && t.Reason != "OOMKilled" || c.probeMayKill(k, t) {
				sure = Likely
			}
			out = append(out, c.crashed(c.crashCause(k, t), k, t, sure))
		}
	}
	return out
}

// stopping is what the kubelet says when it stops a container together with its pod, to make the pod anew.
var stopping = expr(`^Stopping container (\S+)$`)

// stoppingOf returns the event that says that the kubelet stopped a container in a run that has ended; nil: there is none. A container
// ends soon after it, or when its grace period is over.
func (c *Case) stoppingOf(name string, t *corev1.ContainerStateTerminated) *evidence.Event {
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		m := stopping.FindStringSubmatch(e.Message)
		if e.Reason == "Killing" && m != nil && m[1] == name && c.ofPod(e) && c.endsRun(e, t, &corev1.Probe{}) {
			return e
		}
	}
	return nil
}

// A container that is up counts as one that ends again and again from restartsInLoop restarts
// on. The kubelet forgets the restarts of a container that has run for as long as forgotten.
const (
	restartsInLoop = 3
	forgotten      = 10 * time.Minute
)

// crash returns how a container that ends again and again ended last; nil: nobody knows any
// more. sure is empty if the container does not end again and again.
func (c *Case) crash(k container) (t *corev1.ContainerStateTerminated, sure Confidence) {
	last := k.LastTerminationState.Terminated
	switch s := k.State; {
	case c.Phase == Terminating || c.Phase == Ended || c.Phase == Refused:
	case s.Waiting != nil && s.Waiting.Reason == "CrashLoopBackOff":
		return last, Certain
	case s.Terminated != nil && k.RestartCount > 0 && c.restarts(s.Terminated.ExitCode) && ran(s.Terminated) < forgotten:
		return s.Terminated, Certain
	case s.Running != nil && c.loops(k.Name):
		return last, Likely
	case s.Running != nil && k.RestartCount >= restartsInLoop && last != nil:
		up, ran := c.Now.Sub(s.Running.StartedAt.Time), ran(last)
		if up < min(forgotten, max(time.Minute, 2*ran)) {
			return last, Likely
		}
	}
	return nil, ""
}

// loops reports whether a container that is up crashed again and again before, as its story has it.
func (c *Case) loops(name string) bool {
	return c.Story != nil && slices.ContainsFunc(c.Story.Containers, func(k evidence.Restarting) bool { return k.Name == name && !k.Up.IsZero() })
}

// ran returns how long a container ran; 0: nobody has said when it was started.
func ran(t *corev1.ContainerStateTerminated) time.Duration {
	if t.StartedAt.IsZero() {
		return 0
	}
	return t.FinishedAt.Sub(t.StartedAt.Time)
}

// restarts reports whether the pod starts a container again that ended with this exit code.
func (c *Case) restarts(code int32) bool {
	switch c.Spec.Spec.RestartPolicy {
	case corev1.RestartPolicyNever:
		return false
	case corev1.RestartPolicyOnFailure:
		return code != 0
	}
	return true
}

// crashCause returns the id of the cause for how a container ended.
func (c *Case) crashCause(k container, t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason == "OOMKilled" && c.memoryLimit(k.Name) == "":
		return "start.oomUnlimited"
	case t.Reason == "OOMKilled":
		return "start.oomKilled"
	case t.Reason == "ContainerStatusUnknown":
		return "start.lost"
	case exits[t.ExitCode] != "":
		return exits[t.ExitCode]
	}
	return "start.crashes"
}

func (c *Case) crashed(id string, k container, t *corev1.ContainerStateTerminated, sure Confidence) Finding {
	since, args, shown := c.Since, c.endArgs(k, t), []Evidence{}
	if k.State.Waiting != nil {
		shown = append(shown, c.waits(k))
	}
	if t != nil {
		since, shown = c.failsSince(&k), append(shown, c.ended(k, t))
	}
	f := c.found(id, k.Name, args, sure, since, shown...)
	f.Next = c.nextTry(k)
	return f
}

// endArgs returns the arguments of a container that has ended.
func (c *Case) endArgs(k container, t *corev1.ContainerStateTerminated) Args {
	args := c.containerArgs(k, "", "")
	args["limit"] = c.memoryLimit(k.Name)
	if t != nil {
		args["exitCode"], args["reason"], args["lastReason"] = strconv.Itoa(int(t.ExitCode)), t.Reason, t.Reason
	}
	return args
}

// ended makes an evidence of how a container ended.
func (c *Case) ended(k container, t *corev1.ContainerStateTerminated) Evidence {
	text := words.With(words.Text("exit code %d, %d restarts", "退出码 %d，重启 %d 次"), t.ExitCode, k.RestartCount)
	if t.Reason != "" {
		text = words.With(words.Text("%s, %s", "%s，%s"), t.Reason, text)
	}
	return c.status(words.With(words.Text("container %s terminated", "容器 %s 已结束"), k.Name), text, t.FinishedAt.Time)
}

// memoryLimit returns a container's limit of memory, or the pod's; empty: it has none.
func (c *Case) memoryLimit(name string) string {
	if k := c.specOf(name); k != nil {
		if q, ok := k.Resources.Limits[corev1.ResourceMemory]; ok {
			return q.String()
		}
	}
	if r := c.Spec.Spec.Resources; r != nil {
		if q, ok := r.Limits[corev1.ResourceMemory]; ok {
			return q.String()
		}
	}
	return ""
}

// inRun reports whether an event came while a container ran that has ended by now, or after that.
func (c *Case) inRun(e *evidence.Event, t *corev1.ContainerStateTerminated) bool {
	return !e.Last.Before(t.StartedAt.Add(-slack))
}

// hookFailed reports whether a container was killed because its postStart hook failed.
func (c *Case) hookFailed(k container, t *corev1.ContainerStateTerminated) bool {
	e := c.containerEvent("FailedPostStartHook", k.Name)
	return e != nil && c.inRun(e, t)
}

// hookFailsAgain finds a container whose postStart hook failed in an earlier run, while of its last run there is not even
// the event of its start: a kubelet that has sent many events about a pod holds back further ones.
func (c *Case) hookFailsAgain(k container, t *corev1.ContainerStateTerminated) []Finding {
	e, started := c.containerEvent("FailedPostStartHook", k.Name), c.containerEvent("Started", k.Name)
	if e == nil || started != nil && c.inRun(started, t) {
		return nil
	}
	return []Finding{c.found("start.postStartFailed", k.Name, c.endArgs(k, t), Likely, e.First, c.event(e), c.ended(k, t))}
}

// isSidecar reports whether an init container of this name runs on beside the others.
func (c *Case) isSidecar(name string) bool {
	for i := range c.Spec.Spec.InitContainers {
		if k := &c.Spec.Spec.InitContainers[i]; k.Name == name {
			return k.RestartPolicy != nil && *k.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}
