package causes

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// readyChecks are the checks of table/ready.yaml.
var readyChecks = []check{failingProbes, probeRestarts, unmetGates, markedByNode, staleStatus, unsent, unreported, refusedStatus, notReady}

// wasReady reports whether the pod has been ready since its containers were started: its Ready
// became False later than that.
func (c *Case) wasReady(started time.Time) bool {
	if c.Spec == nil {
		return false
	}
	k := condition(c.Spec, corev1.PodReady)
	return k != nil && k.Status == corev1.ConditionFalse && k.LastTransitionTime.After(started.Add(2*time.Second))
}

// A gate that nobody has set is reported after unsetGate, one that is set to False after
// closedGate: a load balancer takes its time to ask a new pod.
const (
	unsetGate  = 30 * time.Second
	closedGate = time.Minute
)

// unmetGates finds the readiness gates that keep a pod with ready containers from being ready.
func unmetGates(c *Case) (out []Finding) {
	if c.Spec == nil || c.Phase != Unready {
		return nil
	}
	inside := condition(c.Spec, corev1.ContainersReady)
	if inside == nil || inside.Status != corev1.ConditionTrue {
		return nil
	}
	since := inside.LastTransitionTime.Time
	for _, g := range c.Spec.Spec.ReadinessGates {
		args := Args{"gate": string(g.ConditionType), "who": ownerOf(string(g.ConditionType))}
		k := condition(c.Spec, g.ConditionType)
		switch {
		case k == nil && c.Now.Sub(since) >= unsetGate:
			out = append(out, c.found("ready.gateMissing", string(g.ConditionType), args, Certain, since,
				c.status(words.With(words.Text("readiness gate %s", "readiness gate %s"), string(g.ConditionType)), words.Text("the pod has no such condition", "Pod 没有这个 condition"), since)))
		case k != nil && k.Status != corev1.ConditionTrue && c.Now.Sub(since) >= closedGate:
			args["status"], args["message"] = string(k.Status), firstOf(k.Message, k.Reason, "-")
			out = append(out, c.found("ready.gateFalse", string(g.ConditionType), args, Certain, latest(since, k.LastTransitionTime.Time),
				c.status(words.Same("condition "+string(g.ConditionType)), words.Same(string(k.Status)+" "+k.Reason+" "+k.Message), k.LastTransitionTime.Time)))
		}
	}
	return out
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// markedByNode finds that the node controller set Ready to False: the kubelet, which
// sets both, would not do so while ContainersReady is True.
func markedByNode(c *Case) []Finding {
	if c.Pod == nil || c.Phase != Unready || len(c.Pod.Spec.ReadinessGates) > 0 {
		return nil
	}
	ready := condition(c.Pod, corev1.PodReady)
	if ready == nil || ready.Status != corev1.ConditionFalse || !conditionIs(c.Pod, corev1.ContainersReady, corev1.ConditionTrue) || c.nodeIsReady() {
		return nil
	}
	at := ready.LastTransitionTime.Time
	shown := []Evidence{c.status(words.Same("conditions"), words.Text("ContainersReady is True, Ready is False", "ContainersReady 为 True，Ready 为 False"), at)}
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; e.Kind == "Pod" && e.Reason == "NodeNotReady" {
			shown = append(shown, c.event(e))
		}
	}
	return []Finding{c.found("ready.nodeNotReady", "", nil, Certain, at, shown...)}
}

// nodeIsReady reports whether the pod's node is known to be ready.
func (c *Case) nodeIsReady() bool {
	if c.Cluster.Node == nil {
		return false
	}
	for _, k := range c.Cluster.Node.Status.Conditions {
		if k.Type == corev1.NodeReady {
			return k.Status == corev1.ConditionTrue
		}
	}
	return false
}

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

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// longUnready is how long a pod may be unready before that alone is worth a word.
const longUnready = 2 * time.Minute

// notReady reports what the kubelet says of a pod that is not ready, where nothing tells more.
func notReady(c *Case) []Finding {
	if c.Spec == nil || c.Phase != Unready || c.Age() < c.longest(longUnready) || c.worksOn() {
		return nil
	}
	k := condition(c.Spec, corev1.ContainersReady)
	if k == nil || k.Status != corev1.ConditionFalse || k.Reason != "ContainersNotReady" {
		return nil
	}
	at := k.LastTransitionTime.Time
	return []Finding{c.found("ready.containersNotReady", "", Args{"message": k.Message}, Likely, at, c.status(words.Same("condition ContainersReady"), words.Same(k.Message), at))}
}

// knownOwners are the programs that set a readiness gate or remove a finalizer, by
// how its name begins.
var knownOwners = []struct{ prefix, owner string }{
	{"batch.kubernetes.io/job-tracking", "kube-controller-manager (Job)"},
	{"foregroundDeletion", "kube-controller-manager (garbage collector)"},
	{"orphan", "kube-controller-manager (garbage collector)"},
	{"kubernetes.io/pvc-protection", "kube-controller-manager (PVC protection)"},
	{"kueue.x-k8s.io/", "Kueue"},
	{"workflows.argoproj.io/", "Argo Workflows"},
	{"prow.x-k8s.io/", "Prow (crier)"},
	{"target-health.elbv2.k8s.aws/", "AWS Load Balancer Controller"},
	{"target-health.alb.ingress.k8s.aws/", "AWS Load Balancer Controller"},
	{"elbv2.k8s.aws/", "AWS Load Balancer Controller"},
	{"vpcresources.k8s.aws/", "AWS VPC Resource Controller"},
	{"cloud.google.com/load-balancer-neg-ready", "GKE (NEG controller)"},
	{"networking.gke.io/", "GKE"},
	{"apps.kruise.io/", "OpenKruise"},
	{"InPlaceUpdateReady", "OpenKruise"},
	{"KruisePodReady", "OpenKruise"},
}

// ownerOf names the program that sets a readiness gate or removes a finalizer: a known
// one, or the domain in the name, or the name itself.
func ownerOf(name string) string {
	for _, k := range knownOwners {
		if strings.HasPrefix(name, k.prefix) {
			return k.owner
		}
	}
	domain, _, _ := strings.Cut(name, "/")
	return domain
}
