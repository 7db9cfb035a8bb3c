package causes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// lateStatus is how long it may take until the API server has what the kubelet knows.
const lateStatus = 20 * time.Second

// staleStatus finds that the kubelet's own object of the pod is further than the API
// server's.
func staleStatus(c *Case) []Finding {
	if c.Pod == nil || c.KubeletPod == nil || c.Pod.UID != c.KubeletPod.UID && c.Pod.Annotations[corev1.MirrorPodAnnotationKey] == "" {
		return nil
	}
	for _, t := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady, corev1.PodInitialized} {
		here, there := condition(c.KubeletPod, t), condition(c.Pod, t)
		if here == nil || here.Status != corev1.ConditionTrue || there != nil && there.Status == corev1.ConditionTrue {
			continue
		}
		at := here.LastTransitionTime.Time
		if there != nil && there.LastTransitionTime.After(at) || c.Now.Sub(at) < lateStatus {
			continue
		}
		return []Finding{c.found("ready.statusLate", "", Args{"error": ""}, Certain, at,
			Evidence{Source: evidence.Port, Where: words.With(words.Text("/pods, condition %s", "/pods，condition %s"), string(t)), Text: words.Same("True"), At: at},
			c.status(words.Same("condition "+string(t)), words.Text("not True", "不是 True"), c.Now))}
	}
	return nil
}

// unsent finds that the pod runs and is ready, as its story has it, and that the API server still shows it on its way.
func unsent(c *Case) []Finding {
	s := c.Story
	if s == nil || c.Pod == nil || !s.Turns || s.State != life.Idle.String() || s.Deleting || c.Now.Sub(s.Since) < lateStatus || !c.in(beforeStart) {
		return nil
	}
	k := condition(c.Pod, corev1.ContainersReady)
	if k != nil && k.Status == corev1.ConditionTrue {
		return nil // what is missing is a readiness gate
	}
	return []Finding{c.found("ready.statusLate", "", Args{"error": ""}, Likely, s.Since,
		Evidence{Source: c.storySource(), Where: words.Text("story", "过程"), Text: words.With(words.Text("the pod is %s", "Pod 的状态是 %s"), s.State), At: s.Since},
		c.status(words.Same("condition "+string(corev1.ContainersReady)), words.Text("not True", "不是 True"), c.Now))}
}

// resentStatus finds that the kubelet sends the same version of the pod's status again and again, or newer ones each of
// which takes long, while the API server has the status of an older generation of the pod. It also sends again, for as long
// as that is due, a deletion that was refused, which is another cause.
func resentStatus(c *Case) []Finding {
	if c.Story == nil || c.Story.Resent == nil || c.Phase == Terminating {
		return nil
	}
	r := c.Story.Resent
	if c.Now.Sub(r.Last) > statusFresh {
		return nil
	}
	if r.Slow > 0 && r.Last.Sub(r.SlowSince) >= lateStatus && c.unobserved() {
		return []Finding{c.found("ready.statusLate", "", Args{"error": ""}, Likely, r.SlowSince, Evidence{
			Source: c.storySource(), Where: words.Text("story", "过程"), At: r.SlowSince,
			Text: words.With(words.Text("the kubelet has sent the pod's status %d times, which took %s", "kubelet 已把 Pod 状态发送了 %d 次，用了 %s"), r.Tries+r.Slow, words.Took(r.Last.Sub(r.SlowSince))),
		}, c.status(words.Same("observedGeneration"), words.With(words.Text("%d; the pod's generation is %d", "%d；Pod 的 generation 是 %d"), c.Pod.Status.ObservedGeneration, c.Pod.Generation), c.Now))}
	}
	if r.Tries < 2 || r.Last.Sub(r.First) < lateStatus {
		return nil
	}
	return []Finding{c.found("ready.statusLate", "", Args{"error": ""}, Likely, r.First, Evidence{
		Source: c.storySource(), Where: words.Text("story", "过程"), At: r.First,
		Text: words.With(words.Text("the kubelet has sent version %d of the pod's status %d times", "kubelet 已把第 %d 版 Pod 状态发送了 %d 次"), r.Version, r.Tries),
	})}
}

// unobserved reports whether the API server has a status of the pod from before its specification changed.
func (c *Case) unobserved() bool {
	return c.Pod != nil && c.Pod.Status.ObservedGeneration != 0 && c.Pod.Status.ObservedGeneration < c.Pod.Generation
}

// unreported finds that the API server has no status of a pod that the kubelet works on: the
// pod's worker reports a status before it does anything else for the pod. Failed mounts show
// nothing: the volume manager does not wait for the worker.
func unreported(c *Case) []Finding {
	if c.Pod == nil || c.Phase != Bound {
		return nil
	}
	var shown []Evidence
	at := c.Now
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; c.ofPod(e) && e.Component == "kubelet" && e.Reason != "FailedMount" && c.Now.Sub(e.First) >= lateStatus {
			shown = append(shown, c.event(e))
			at = earliest(at, e.First)
		}
	}
	if s := c.Story; s != nil && s.State == "running" && c.Now.Sub(s.Since) >= lateStatus {
		shown = append(shown, Evidence{Source: evidence.Agent, Where: words.Text("story", "过程"), Text: words.With(words.Text("the pod is %s", "Pod 的状态是 %s"), s.State), At: s.Since})
		at = earliest(at, s.Since)
	}
	if shown == nil {
		return nil
	}
	return []Finding{c.found("ready.statusLate", "", Args{"error": ""}, Likely, at, append(shown, c.status(inStatus, words.Text("has nothing from the kubelet", "没有来自 kubelet 的内容"), c.Now))...)}
}

// How often the status manager tries again, and how long ago its last line may be.
const (
	statusTries = 5 * time.Second
	statusFresh = 30 * time.Second
)

// refusedStatus finds in the kubelet's log that the API server refuses the pod's status again
// and again. Once means nothing: the next try mostly goes well.
func refusedStatus(c *Case) (out []Finding) {
	if c.Phase == Ended || c.Phase == Refused {
		return nil
	}
	id := "ready.statusLate"
	if c.Phase == Terminating {
		id = "terminating.statusRefused"
		out = c.repeated("terminating.deleteRefused", "Failed to delete status for pod")
	}
	for _, message := range []string{"Failed to update status for pod", "Failed to get status for pod"} {
		out = append(out, c.repeated(id, message)...)
	}
	return out
}

// repeated makes the finding of a cause whose message the kubelet's log has more than once
// about the pod, and lately.
func (c *Case) repeated(id, message string) []Finding {
	if c.Machine == nil {
		return nil
	}
	var shown []Evidence
	for i := range c.Machine.Lines {
		if l := &c.Machine.Lines[i]; c.named(l) && l.Message == message && c.Now.Sub(l.At) < time.Minute {
			shown = append(shown, Evidence{Source: evidence.Log, Where: words.Same(l.Where), Text: words.Same(l.Message + ": " + l.Error), At: l.At})
		}
	}
	if len(shown) < 2 {
		return nil
	}
	first, last := shown[0], shown[len(shown)-1]
	if last.At.Sub(first.At) < statusTries || c.Now.Sub(last.At) > statusFresh {
		return nil
	}
	return []Finding{c.found(id, "", Args{"error": last.Text.En, "message": last.Text.En}, Likely, first.At, last)}
}
