package causes

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

func decimal(n int) string { return strconv.Itoa(n) }

// number reads a field of a call.
func number(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// waitsForStart finds, by status and events alone, that the deletion waits for something that
// the worker began before: the container has not been started, and the last event about it is
// the beginning of something.
func waitsForStart(c *Case) (out []Finding) {
	if !c.terminating() || c.Spec.Spec.NodeName == "" || graceIsZero(c.Spec) || c.Age() < lastSteps || c.nodeIsLost() {
		return nil
	}
	for _, k := range c.containers() {
		w := k.State.Waiting
		if w == nil || w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
			continue
		}
		e := c.lastOf(k.Name)
		if e == nil {
			continue
		}
		args := c.containerArgs(k, w.Reason, e.Message)
		args["step"] = e.Reason
		spec := c.specOf(k.Name)
		hook := spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PostStart != nil
		switch {
		case e.Reason == "Pulling":
			out = append(out, c.found("terminating.behindPull", k.Name, args, Likely, e.Last, c.event(e)))
		case e.Reason == "Started" && hook:
			out = append(out, c.found("terminating.behindHook", k.Name, args, Likely, e.Last, c.event(e)))
		case e.Reason == "Pulled" || e.Reason == "Created":
			out = append(out, c.found("terminating.behindStart", k.Name, args, Possible, e.Last, c.event(e)))
		}
	}
	return out
}

// lastOf returns the newest event about one container. Of two events of the same second, the
// one that comes later in a start counts.
func (c *Case) lastOf(name string) (last *evidence.Event) {
	order := []string{"Pulling", "Pulled", "Created", "Started"}
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if !c.ofPod(e) || containerOfPath(e.FieldPath) != name {
			continue
		}
		if last == nil || e.Last.After(last.Last) || e.Last.Equal(last.Last) && slices.Index(order, e.Reason) > slices.Index(order, last.Reason) {
			last = e
		}
	}
	return last
}

// unreleasedVolumes finds what is left of a pod's volumes and of its cgroup some time after its
// containers have ended.
func unreleasedVolumes(c *Case) (out []Finding) {
	if !c.terminating() || len(c.running()) > 0 || c.Age() < lastSteps || len(c.Spec.Status.ContainerStatuses) == 0 {
		return nil
	}
	at := latest(endedAt(c.Spec, c.Spec.CreationTimestamp.Time), c.Since)
	if c.Now.Sub(at) < lastSteps {
		return nil
	}
	out = append(out, c.waitsForVolumes(at)...)
	return append(out, c.undetached()...)
}

// waitsForVolumes finds what the pod's worker waits for: by the kubelet's goroutines and log,
// and by what the machine still has.
func (c *Case) waitsForVolumes(at time.Time) (out []Finding) {
	if seen := c.stacks("WaitForUnmount"); len(seen) > 0 {
		out = append(out, c.found("terminating.unmountWaits", "", nil, Certain, at, seen...))
	} else if seen := c.stacks("PollUntilContextCancel"); len(seen) > 0 && len(c.stacks("SyncTerminatedPod")) > 0 {
		out = append(out, c.found("terminating.volumesLeft", "", Args{"volumes": c.volumeDirs()}, Certain, at, seen...))
	} else if k := c.polling(); k != nil {
		out = append(out, c.found("terminating.volumesLeft", "", Args{"volumes": c.volumeDirs()}, Likely, at, c.call(k)))
	}
	m := c.Machine
	if m == nil {
		return out
	}
	for i := range m.Lines {
		if l := &m.Lines[i]; c.named(l) && strings.Contains(l.Message, "some volumes have not been cleaned up") && c.Now.Sub(l.At) < controllerTime {
			out = append(out, c.found("terminating.volumesLeft", "", Args{"volumes": c.volumeDirs()}, Likely, at, Evidence{Source: evidence.Log, Where: words.Same(l.Where), Text: words.Same(l.Message), At: l.At}))
			break
		}
	}
	return append(out, c.leftOnMachine(m, at)...)
}

// polling returns the call by which the kubelet cleans up after the pod, if that has gone on for a while and no step goes on in it:
// then it polls until the directories of the pod's volumes are gone. nil: it does not.
func (c *Case) polling() *evidence.Call {
	if c.Story == nil || !c.Story.Turns {
		return nil
	}
	return c.innermost(lastSteps, "SyncTerminatedPod")
}

// innermost returns the call of one of these functions that has gone on for a time, with no step in it; nil: there is none.
func (c *Case) innermost(long time.Duration, functions ...string) *evidence.Call {
	if c.Story == nil || len(c.Story.Open) == 0 {
		return nil
	}
	k := &c.Story.Open[len(c.Story.Open)-1]
	if c.Now.Sub(k.Began) < long || !slices.ContainsFunc(functions, func(name string) bool { return isCallOf(k, ofFunction(name)) }) {
		return nil
	}
	return k
}

// lastLook finds that the kubelet has done all that it does to end the pod's containers, and looks at them for the last time: of
// that, the lists of the runtime are no steps. Some of what goes before is one only where calls to the runtime are seen.
func lastLook(c *Case) []Finding {
	k := c.innermost(lastSteps, "SyncTerminatingPod")
	if k == nil || !c.Story.Turns || !c.Story.Calls {
		return nil
	}
	return []Finding{c.found("terminating.lookHangs", "", nil, Likely, k.Began, c.call(k))}
}

// volumeDirs returns the directories of the pod's volumes that are left, as far as they are known.
func (c *Case) volumeDirs() string {
	if c.Machine == nil || len(c.Machine.VolumeDirs) == 0 {
		return "-"
	}
	return strings.Join(c.Machine.VolumeDirs, ", ")
}

// leftOnMachine finds what the machine still has of a pod whose containers have ended: mounts,
// or else directories, or else processes.
func (c *Case) leftOnMachine(m *evidence.Machine, at time.Time) []Finding {
	here := func(where, text probes.Text) Evidence {
		return Evidence{Source: evidence.Node, Where: where, Text: text, At: c.Now}
	}
	switch g := m.Cgroup; {
	case len(m.Mounts) > 0:
		return []Finding{c.found("terminating.unmountWaits", "", nil, Possible, at, here(words.Same(m.Mounts[0].Path), words.With(words.Text("is mounted, %s", "已挂载，%s"), m.Mounts[0].Type)))}
	case len(m.VolumeDirs) > 0:
		text := c.volumeDirs()
		return []Finding{c.found("terminating.volumesLeft", "", Args{"volumes": text}, Likely, at, here(words.Text("volumes of the pod", "Pod 的卷"), words.Same(text)))}
	case g != nil && g.Processes > 0:
		text := words.With(words.Text("%d processes are left", "还有 %d 个进程"), g.Processes)
		return []Finding{c.found("terminating.cgroup", "", Args{"message": text.En}, Possible, at, here(words.Same(g.Path), text))}
	}
	return nil
}

// undetached finds the pod's volumes that the attacher does not get off the node.
func (c *Case) undetached() (out []Finding) {
	for i := range c.Cluster.Attachments {
		a := &c.Cluster.Attachments[i]
		if a.DeletionTimestamp == nil || a.Status.DetachError == nil || a.Spec.NodeName != c.args["node"] || !c.owns(a.Spec.Source.PersistentVolumeName) {
			continue
		}
		e := a.Status.DetachError
		args := Args{"volume": *a.Spec.Source.PersistentVolumeName, "message": e.Message}
		out = append(out, c.found("terminating.deviceUnmount", args["volume"], args, Likely, a.DeletionTimestamp.Time,
			c.object(words.Same("volumeattachments/"+a.Name), words.Same("detach: "+e.Message), e.Time.Time)))
	}
	return out
}

// owns reports whether a volume is one of the pod's.
func (c *Case) owns(name *string) bool {
	return name != nil && slices.ContainsFunc(c.Cluster.Volumes, func(v corev1.PersistentVolume) bool { return v.Name == *name })
}

// finalizers finds the finalizers that keep a pod after the kubelet, or whoever deleted it by
// force, has let it go.
func finalizers(c *Case) (out []Finding) {
	if !c.terminating() || len(c.Spec.Finalizers) == 0 || !graceIsZero(c.Spec) && c.Spec.Spec.NodeName != "" {
		return nil
	}
	at := latest(c.Since, endedAt(c.Spec, c.Spec.CreationTimestamp.Time))
	if c.Now.Sub(at) < controllerTime {
		return nil
	}
	for _, f := range c.Spec.Finalizers {
		id := "terminating.finalizer"
		switch f {
		case jobFinalizer:
			id = "terminating.jobTracking"
		case foreground:
			id = "terminating.foreground"
		}
		args := Args{"finalizer": f, "who": ownerOf(f), "took": words.Took(c.Now.Sub(at).Round(time.Second))}
		out = append(out, c.found(id, f, args, Certain, at, c.status(words.Same("metadata.finalizers"), words.Same(strings.Join(c.Spec.Finalizers, ", ")), c.Now)))
	}
	return out
}

// The finalizers of the control plane.
const (
	jobFinalizer = "batch.kubernetes.io/job-tracking"
	foreground   = "foregroundDeletion"
)

// uncounted finds that the Job controller has not counted a pod that has ended.
func uncounted(c *Case) []Finding {
	if c.Spec == nil || c.Phase != Ended && c.Phase != Refused || !slices.Contains(c.Spec.Finalizers, jobFinalizer) {
		return nil
	}
	at := endedAt(c.Spec, c.Spec.CreationTimestamp.Time)
	if c.Now.Sub(at) < usualStop {
		return nil
	}
	args := Args{"finalizer": jobFinalizer, "took": words.Took(c.Now.Sub(at).Round(time.Second))}
	return []Finding{c.found("terminating.jobTracking", jobFinalizer, args, Certain, at, c.status(words.Same("metadata.finalizers"), words.Same(jobFinalizer), c.Now))}
}

// afterKubelet finds that the kubelet is through with a pod and the API server keeps it. If no
// finalizer keeps it, the API server refuses the kubelet's last words.
func afterKubelet(c *Case) []Finding {
	k := c.done(ofFunction("SyncTerminatedPod"))
	if c.Pod == nil || !c.terminating() || k == nil || graceIsZero(c.Pod) || c.Now.Sub(k.Ended) < lastSteps {
		return nil
	}
	args := Args{"error": "", "message": "-", "phase": string(c.Pod.Status.Phase)}
	phase := c.status(inStatus, words.Same("phase "+args["phase"]), c.Now)
	id := "terminating.statusRefused"
	if args["phase"] == string(corev1.PodSucceeded) || args["phase"] == string(corev1.PodFailed) {
		id = "terminating.deleteRefused"
	}
	shown := c.call(k)
	shown.Text = words.Text("the kubelet is done with the pod", "kubelet 已处理完这个 Pod")
	if sends := c.sendsStatus(); sends != nil && id == "terminating.deleteRefused" {
		return []Finding{c.found("terminating.deleteUnanswered", "", args, Certain, sends.Began, c.call(sends), shown, phase)}
	}
	return []Finding{c.found(id, "", args, Likely, k.Ended, shown, phase)}
}

// sendsStatus returns the call in which the kubelet sends the pod's status, or deletes the pod, if that takes long; nil: there is none.
func (c *Case) sendsStatus() *evidence.Call {
	for i := range c.Story.Open {
		if k := &c.Story.Open[i]; isCallOf(k, ofRole(probes.RoleSendStatus)) && c.Now.Sub(k.Began) >= lateStatus {
			return k
		}
	}
	return nil
}

// done returns the last call of a wanted step that went well; nil: none is known.
func (c *Case) done(wanted func(*probes.Step) bool) *evidence.Call {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Done {
		if k := &c.Story.Done[i]; isCallOf(k, wanted) {
			return k
		}
	}
	return nil
}
