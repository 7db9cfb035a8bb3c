package causes

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/probes/words"
)

// readyChecks are the checks of table/ready.yaml.
var readyChecks = []check{failingProbes, childrenKilled, contradictions, probeRestarts, unmetGates, markedByNode, staleStatus, unsent, unreported, endsUnseen, statusBehind, refusedStatus, resentStatus, resizeWithoutEffect, behindVolumes, notReady}

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
