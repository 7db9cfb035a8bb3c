package causes

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// terminatingChecks are the checks of table/terminating.yaml.
var terminatingChecks = []check{
	slowToEnd, shortenedGrace, sidecarTurns, waitsForStart, uninterruptible, leftOver, unreleasedVolumes, lastLook,
	finalizers, uncounted, withoutNode, mirrorDeleted, orphanInRuntime, pastDeadline, afterKubelet,
}

// How long parts of a deletion take at most where nothing is wrong.
const (
	// usualStop is how long a container may take to end before that is worth a word; it is
	// the usual grace period.
	usualStop = 30 * time.Second
	// hookTime is the same for a preStop hook: many sleep for some seconds, until no more
	// traffic comes.
	hookTime = 20 * time.Second
	// lastSteps is how long the kubelet needs after the last container, and how late its
	// reports are.
	lastSteps = 15 * time.Second
	// controllerTime is how long a controller may take to remove its finalizers.
	controllerTime = 10 * time.Second
)

// terminating reports whether the pod is being deleted, and its object is known.
func (c *Case) terminating() bool {
	return c.Phase == Terminating && c.Spec != nil && c.Spec.DeletionTimestamp != nil
}

// graceArgs returns the arguments of a grace period.
func (c *Case) graceArgs() Args {
	grace := time.Duration(0)
	if g := c.Spec.DeletionGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	first := grace
	if g := c.Spec.Spec.TerminationGracePeriodSeconds; g != nil {
		first = max(first, time.Duration(*g)*time.Second)
	}
	end := c.Spec.DeletionTimestamp.Time
	return Args{
		"grace": words.Took(grace), "first": words.Took(first), "left": words.Took(max(0, end.Sub(c.Now)).Round(time.Second)),
		"over": words.Took(max(0, c.Now.Sub(end)).Round(time.Second)), "took": words.Took(c.Age().Round(time.Second)),
	}
}

// running returns the containers that run, as far as the API server or the runtime knows. What
// the runtime says is newer: the kubelet reports the ends of a pod's containers together.
func (c *Case) running() (out []container) {
	for _, k := range c.containers() {
		if k.State.Running != nil && !c.endedInRuntime(k.Name) {
			out = append(out, k)
		}
	}
	return out
}

// endedInRuntime reports whether the runtime has a container of a name that has ended,
// and none that runs.
func (c *Case) endedInRuntime(name string) bool {
	if c.Runtime == nil {
		return false
	}
	ended := false
	for _, k := range c.Runtime.Containers {
		if k.Name != name {
			continue
		}
		if k.State != "exited" {
			return false
		}
		ended = true
	}
	return ended
}

// sidecar reports whether a container is an init container that runs beside the others.
func (c *Case) sidecar(name string) bool {
	return slices.ContainsFunc(c.Spec.Spec.InitContainers, func(k corev1.Container) bool {
		return k.Name == name && k.RestartPolicy != nil && *k.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}

// slowToEnd finds the containers that take long to end, or have not ended when they should have.
func slowToEnd(c *Case) (out []Finding) {
	if !c.terminating() || c.afterSync() || c.Spec.Annotations[corev1.MirrorPodAnnotationKey] != "" {
		return nil
	}
	mains, others := c.stopping()
	if len(mains) == 0 {
		return nil
	}
	end := c.Spec.DeletionTimestamp.Time
	if c.Now.Sub(end) >= lastSteps {
		k := mains[0]
		args := c.graceArgs()
		args["container"] = k.Name
		return []Finding{c.found("terminating.overdue", "", args, Likely, end, c.status(ofContainer(k.Name), words.Text("runs", "在运行"), c.Now))}
	}
	for _, k := range mains {
		out = append(out, c.slow(k, others)...)
	}
	return out
}

// stopping returns the running containers that the kubelet stops now, and the names of those
// that have ended. Sidecars have their turn after the others.
func (c *Case) stopping() (now []container, ended []string) {
	run := c.running()
	for _, k := range run {
		if !c.sidecar(k.Name) {
			now = append(now, k)
		}
	}
	if len(now) == 0 {
		now = run
	}
	for _, k := range c.containers() {
		if k.kind == "app" && (k.State.Terminated != nil || c.endedInRuntime(k.Name)) {
			ended = append(ended, k.Name)
		}
	}
	return now, ended
}

// slow finds why one container has not ended within its grace period yet: its hook takes long,
// unless the kubelet is known to be past the hooks, or else the container itself does.
func (c *Case) slow(k container, ended []string) (out []Finding) {
	args := c.graceArgs()
	args["container"], args["image"], args["ended"] = k.Name, k.Image, strings.Join(ended, ", ")
	spec := c.specOf(k.Name)
	runs := c.status(ofContainer(k.Name), words.With(words.Text("runs %s after the deletion", "删除后 %s 仍在运行"), args["took"]), c.Now)
	if spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil && !c.hookIsOver() {
		return c.hookRuns(k.Name, spec.Lifecycle.PreStop, args, runs, len(ended) > 0)
	}
	if c.Age() < usualStop || !c.Now.Before(c.Spec.DeletionTimestamp.Time) {
		return nil
	}
	sure, stops := Likely, c.openCalls(ofRole(probes.RoleStop))
	if len(stops) > 0 {
		sure = Certain
	} else if c.Story != nil && c.Story.Turns {
		return out // the kubelet is not at it
	}
	shown := append([]Evidence{runs}, stops...)
	if p := c.program(k.Name); p != nil && p.Deaf {
		args["process"] = p.Main.Name
		shown = append(shown, c.kernel(ofProcess(&p.Main), words.Text("has no handler for the signal that asks it to end", "没有处理要求它结束的信号")))
		return append(out, c.found("terminating.noHandler", k.Name, args, Certain, c.Since, shown...))
	}
	return append(out, c.found("terminating.grace", k.Name, args, sure, c.Since, shown...))
}

// hookRuns makes the finding of a preStop hook that takes long. A hook that sleeps has the time
// that it asks for.
func (c *Case) hookRuns(name string, hook *corev1.LifecycleHandler, args Args, runs Evidence, others bool) []Finding {
	longest := hookTime
	if hook.Sleep != nil {
		longest = max(longest, time.Duration(hook.Sleep.Seconds)*time.Second+lastSteps/3)
	}
	if c.Age() < longest {
		return nil
	}
	shown, sure := []Evidence{runs, c.status(ofContainer(name), words.Text("has a preStop hook", "有 preStop 钩子"), c.Now)}, Possible
	for _, seen := range [][]Evidence{c.openCalls(ofFunction("executePreStopHook")), c.stacks("executePreStopHook")} {
		if len(seen) > 0 {
			shown, sure = append(shown, seen...), Certain
		}
	}
	if others {
		return []Finding{c.found("terminating.hookBlocks", name, args, sure, c.Since, shown...)}
	}
	return []Finding{c.found("terminating.preStop", name, args, sure, c.Since, shown...)}
}

// stacks makes evidences of the pod's goroutines that are in a function.
func (c *Case) stacks(function string) (out []Evidence) {
	if c.Kubelet == nil {
		return nil
	}
	for i := range c.Kubelet.Goroutines {
		g := &c.Kubelet.Goroutines[i]
		if g.Pod == c.args["uid"] && slices.ContainsFunc(g.Frames, func(f string) bool { return strings.HasSuffix(f, "."+function) }) {
			out = append(out, Evidence{Source: evidence.Port, Where: words.With(words.Text("goroutine %s", "goroutine %s"), decimal(int(g.ID))), Text: words.With(words.Text("%s in %s", "%s，在 %s 中"), g.State, function), At: c.Now})
		}
	}
	return out
}

// hookIsOver reports whether the kubelet is seen to be past the preStop hooks.
func (c *Case) hookIsOver() bool {
	return c.Story != nil && c.Story.Turns && len(c.openCalls(ofFunction("executePreStopHook"))) == 0 && len(c.openCalls(ofRole(probes.RoleStop))) > 0
}

// openCalls makes evidences of the calls of the wanted steps that go on.
func (c *Case) openCalls(wanted func(*probes.Step) bool) (out []Evidence) {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Open {
		if k := &c.Story.Open[i]; isCallOf(k, wanted) {
			out = append(out, c.call(k))
		}
	}
	return out
}

// afterSync reports whether the deletion is seen to wait for what the worker began before it.
func (c *Case) afterSync() bool { return len(c.openCalls(ofFunction("SyncPod"))) > 0 }

// shortenedGrace finds that a deletion asked for less grace than one before, and that the
// kubelet still waits for as long as the first one allowed.
func shortenedGrace(c *Case) []Finding {
	if !c.terminating() || c.Spec.DeletionGracePeriodSeconds == nil || c.Now.Sub(c.Spec.DeletionTimestamp.Time) < lastSteps/3 {
		return nil
	}
	mains, _ := c.stopping()
	if len(mains) == 0 {
		return nil
	}
	now := *c.Spec.DeletionGracePeriodSeconds
	args := c.graceArgs()
	args["container"] = mains[0].Name
	if k := c.longerGrace(now); k != nil {
		return []Finding{c.found("terminating.shortened", "", args, Certain, k.Began, c.call(k), c.status(words.Same("deletionGracePeriodSeconds"), words.Same(args["grace"]), c.Now))}
	}
	first := c.Spec.Spec.TerminationGracePeriodSeconds
	if first == nil || now >= *first || c.eventIs("FailedKillPod") || c.nodeIsLost() || c.Age() > time.Duration(*first)*time.Second+lastSteps {
		return nil
	}
	return []Finding{c.found("terminating.shortened", "", args, Likely, c.Since,
		c.status(words.Same("deletionGracePeriodSeconds"), words.With(words.Text("%s, of the pod %s", "%s，Pod 的是 %s"), args["grace"], args["first"]), c.Now), c.status(ofContainer(mains[0].Name), words.Text("runs", "在运行"), c.Now))}
}

// longerGrace returns a call that goes on and that began with more grace than is now asked for.
func (c *Case) longerGrace(now int64) *evidence.Call {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Open {
		k := &c.Story.Open[i]
		for _, field := range []string{"gracePeriod", "timeout"} {
			if n, ok := number(k.Fields[field]); ok && n > now+1 && (isCallOf(k, ofRole(probes.RoleStop)) || isCallOf(k, ofFunction("SyncTerminatingPod"))) {
				return k
			}
		}
	}
	return nil
}

// eventIs reports whether the pod has had an event of a reason in its present phase.
func (c *Case) eventIs(reason string) bool {
	return slices.ContainsFunc(c.Cluster.Events, func(e evidence.Event) bool {
		return e.Reason == reason && c.ofPod(&e) && !e.Last.Before(c.Since.Add(-slack))
	})
}

// sidecarTurns finds the sidecars that wait until the other containers have ended.
func sidecarTurns(c *Case) (out []Finding) {
	if !c.terminating() || c.Age() < hookTime || c.afterSync() || c.nodeIsLost() {
		return nil
	}
	var mains, sides []string
	for _, k := range c.running() {
		if c.sidecar(k.Name) {
			sides = append(sides, k.Name)
		} else {
			mains = append(mains, k.Name)
		}
	}
	if len(mains) == 0 {
		return nil
	}
	for _, name := range sides {
		args := c.graceArgs()
		args["container"], args["others"] = name, strings.Join(mains, ", ")
		shown := []Evidence{c.status(words.Text("containers", "各容器"), words.With(words.Text("%s and the sidecar %s run", "%s 和 sidecar %s 还在运行"), args["others"], name), c.Now)}
		out = append(out, c.found("terminating.sidecarOrder", name, args, Possible, c.Since, append(shown, c.stacks("waitForTurn")...)...))
	}
	return out
}

// uninterruptible finds the processes that no signal reaches.
func uninterruptible(c *Case) (out []Finding) {
	if !c.terminating() || c.Machine == nil || c.Age() < usualStop {
		return nil
	}
	for _, p := range c.Machine.Stuck {
		args := Args{"pid": decimal(p.PID), "process": p.Name, "wchan": firstOf(p.Wchan, "-")}
		out = append(out, c.found("terminating.uninterruptible", args["pid"], args, Certain, c.Since,
			Evidence{Source: evidence.Node, Where: words.With(words.Text("process %s", "进程 %s"), args["pid"]), Text: words.With(words.Text("%s in state %s at %s", "%s 的状态是 %s，在 %s"), p.Name, p.State, args["wchan"]), At: c.Now}))
	}
	return out
}

// leftOver finds that the containers have ended and the object is still there. The API server
// does not show what the kubelet is doing.
func leftOver(c *Case) []Finding {
	if !c.terminating() || c.Spec.Spec.NodeName == "" || graceIsZero(c.Spec) || len(c.Spec.Status.ContainerStatuses) == 0 || len(c.running()) > 0 || waitingToStart(c.Spec) {
		return nil
	}
	at := latest(endedAt(c.Spec, c.Spec.CreationTimestamp.Time), c.Since)
	if c.Now.Sub(at) < 2*lastSteps || c.nodeIsLost() {
		return nil
	}
	args := Args{"took": words.Took(c.Now.Sub(at).Round(time.Second)), "phase": string(c.Spec.Status.Phase)}
	shown := c.status(words.Text("containers", "各容器"), words.Text("all have ended", "都已结束"), at)
	out := []Finding{c.found("terminating.cleanup", "", args, Possible, at, shown)}
	if f := c.refusedByWebhook(at); f != nil {
		out = append(out, *f)
	}
	return out
}

// refusedByWebhook finds an admission webhook that does not answer. By then the pod has ended
// for the API server, too, and only the kubelet's deletion is still to come.
func (c *Case) refusedByWebhook(at time.Time) *Finding {
	i := slices.IndexFunc(c.Cluster.Webhooks, func(w evidence.Webhook) bool { return w.Fails && w.Service != "" && w.Ready == 0 })
	if i < 0 || len(c.Spec.Finalizers) > 0 {
		return nil
	}
	w := c.Cluster.Webhooks[i]
	f := c.found("terminating.deleteRefused", "", Args{"message": "admission webhook " + w.Name + ": service " + w.Service + " has no endpoint that is ready"}, Likely, at,
		c.object(words.With(words.Text("webhook %s of %s", "webhook %s（%s）"), w.Name, w.Configuration), words.With(words.Text("service %s has no endpoint that is ready; what it does not answer is refused", "服务 %s 没有就绪的端点；它不回答的请求会被拒绝"), w.Service), c.Now))
	return &f
}

// graceIsZero reports whether a deletion waits for nothing but finalizers, since its grace
// period has become 0.
func graceIsZero(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds == 0
}

// waitingToStart reports whether a container of a pod still waits to be started.
func waitingToStart(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(k corev1.ContainerStatus) bool { return k.State.Waiting != nil })
}

// withoutNode finds that the node of the pod is gone or silent: only its kubelet lets the pod go.
func withoutNode(c *Case) []Finding {
	name := c.args["node"]
	if !c.terminating() || name == "" || graceIsZero(c.Spec) || c.Age() < lastSteps {
		return nil
	}
	if slices.Contains(c.Cluster.Missing, "nodes/"+name) {
		return []Finding{c.found("terminating.nodeGone", "", nil, Certain, c.Since, c.object(words.Same("nodes/"+name), words.Text("there is none", "没有"), c.Now))}
	}
	at, ok := c.lastSign()
	if !ok || !c.nodeIsLost() {
		return nil
	}
	return []Finding{c.found("terminating.nodeSilent", "", Args{"silent": words.Took(c.Now.Sub(at).Round(time.Second))}, Certain, at,
		c.object(words.With(words.Text("lease of node %s", "节点 %s 的租约"), name), words.With(words.Text("renewed last %s", "上次续租 %s"), at.UTC().Format(time.RFC3339)), at))}
}

// silentNode is how long a kubelet may go without renewing its lease. It does so every 10 s,
// and the node controller waits 40 s (50 s from 1.32 on).
const silentNode = 40 * time.Second

// lastSign returns when the node's kubelet was heard of last.
func (c *Case) lastSign() (at time.Time, ok bool) {
	if l := c.Cluster.Lease; l != nil && l.Spec.RenewTime != nil {
		return l.Spec.RenewTime.Time, true
	}
	if n := c.Cluster.Node; n != nil {
		for _, k := range n.Status.Conditions {
			if k.Type == corev1.NodeReady && k.Status == corev1.ConditionUnknown {
				return k.LastHeartbeatTime.Time, true
			}
		}
	}
	return time.Time{}, false
}

// nodeIsLost reports whether the node does not exist, or its kubelet does not report.
func (c *Case) nodeIsLost() bool {
	if slices.Contains(c.Cluster.Missing, "nodes/"+c.args["node"]) {
		return true
	}
	at, ok := c.lastSign()
	return ok && c.Now.Sub(at) >= silentNode
}

// mirrorDeleted finds that the pod is the mirror of a static one.
func mirrorDeleted(c *Case) []Finding {
	if !c.terminating() || c.Spec.Annotations[corev1.MirrorPodAnnotationKey] == "" || c.Age() < 5*time.Second {
		return nil
	}
	return []Finding{c.found("terminating.staticPod", "", nil, Certain, c.Since, c.status(words.With(words.Text("annotation %s", "annotation %s"), corev1.MirrorPodAnnotationKey), words.Same(c.Spec.Annotations[corev1.MirrorPodAnnotationKey]), c.Now))}
}

// orphanInRuntime finds a pod that the runtime runs and the API server does not have.
func orphanInRuntime(c *Case) []Finding {
	if c.Phase != Missing || c.Runtime == nil || !slices.Contains(c.Cluster.Missing, "pods/"+c.Name.Name) {
		return nil
	}
	var shown []Evidence
	for _, s := range c.Runtime.Sandboxes {
		if s.Ready && c.Now.Sub(s.Created) >= usualStop {
			shown = append(shown, Evidence{Source: evidence.CRI, Where: words.With(words.Text("sandbox %s", "沙箱 %s"), s.ID), Text: words.Text("ready", "就绪"), At: c.Now})
		}
	}
	for _, k := range c.Runtime.Containers {
		if k.State == "running" && c.Now.Sub(k.Created) >= usualStop {
			shown = append(shown, Evidence{Source: evidence.CRI, Where: ofContainer(k.Name), Text: words.Text("runs", "在运行"), At: c.Now})
		}
	}
	if shown == nil {
		return nil
	}
	return []Finding{c.found("terminating.orphan", "", nil, Likely, time.Time{}, shown...)}
}

// pastDeadline finds that the kubelet ended a pod for its activeDeadlineSeconds.
func pastDeadline(c *Case) []Finding {
	if c.Spec == nil || c.Spec.Spec.ActiveDeadlineSeconds == nil {
		return nil
	}
	args := Args{"deadline": words.Took(time.Duration(*c.Spec.Spec.ActiveDeadlineSeconds) * time.Second)}
	st := &c.Spec.Status
	if st.Reason == "DeadlineExceeded" {
		return []Finding{c.found("terminating.activeDeadline", "", args, Certain, c.Since, c.status(inStatus, words.Same(st.Reason+": "+st.Message), c.Since))}
	}
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; e.Reason == "DeadlineExceeded" && c.ofPod(e) {
			return []Finding{c.found("terminating.activeDeadline", "", args, Likely, e.First, c.event(e))}
		}
	}
	return nil
}
