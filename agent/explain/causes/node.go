package causes

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// nodeChecks are the checks of table/node.yaml.
var nodeChecks = []check{silentKubelet, unreadyNode, blockedLoop, goneNode, blockedDrain, pressedNode, closedNode}

// leaseLasts is how long a kubelet's lease is good without being renewed, if it does
// not say.
const leaseLasts = 40 * time.Second

// leaseNoticed is how old a lease is when the control plane must have noticed that nobody
// renews it. If it still takes the node for ready then, the clocks may differ instead.
const leaseNoticed = 100 * time.Second

// silentKubelet finds that nothing is heard of the node's kubelet any more: by its
// lease, or by what the control plane has made of that.
func silentKubelet(c *Case) (out []Finding) {
	renewed, ok := c.renewed()
	if k := c.nodeReady(); k != nil && k.Status == "Unknown" && k.Reason != "NodeStatusNeverUpdated" {
		text, since := k.Status+" "+k.Reason+": "+k.Message, k.Since
		if ok {
			since = earliest(since, renewed) // the control plane notices later that nobody renews the lease
		}
		out = append(out, c.found("node.kubeletSilent", "", nil, Certain, since, c.object(words.With(words.Text("condition Ready of node %s", "节点 %s 的 condition Ready"), c.args["node"]), words.Same(text), k.Since)))
	}
	if !ok || c.Now.Sub(renewed) <= leaseLasts+slack {
		return out
	}
	sure := Likely
	if c.Now.Sub(renewed) > leaseNoticed && len(out) == 0 {
		if c.Phase == Ready {
			return nil
		}
		sure = Possible
	}
	text := words.With(words.Text("renewed last %s", "上次续租 %s"), renewed.UTC().Format(time.RFC3339))
	return append(out, c.found("node.kubeletSilent", "", nil, sure, renewed, c.object(words.Same("leases/"+c.args["node"]), text, renewed)))
}

// renewed returns when the kubelet last renewed its lease.
func (c *Case) renewed() (at time.Time, ok bool) {
	if l := c.Cluster.Lease; l != nil && l.Spec.RenewTime != nil {
		return l.Spec.RenewTime.Time, true
	}
	return at, false
}

// nodeReady returns the condition Ready of the pod's node; nil: it is not known.
func (c *Case) nodeReady() *evidence.Condition {
	all := c.conditions(true)
	if i := slices.IndexFunc(all, func(k evidence.Condition) bool { return k.Type == string(corev1.NodeReady) }); i >= 0 {
		return &all[i]
	}
	return nil
}

// unreadyNode finds that the kubelet reports its node as not ready, unless only a network is
// missing. Pods of the host's network run without one, and for others there are better causes.
func unreadyNode(c *Case) []Finding {
	k := c.nodeReady()
	if k == nil || k.Status != "False" || c.Phase != OnNode && c.Now.Sub(k.Since) < 10*time.Second {
		return nil
	}
	if c.Phase != OnNode && strings.HasPrefix(k.Message, "container runtime network not ready") {
		return nil
	}
	return []Finding{c.found("node.notReady", "", Args{"message": k.Message}, Certain, k.Since,
		c.object(words.With(words.Text("condition Ready of node %s", "节点 %s 的 condition Ready"), c.args["node"]), words.Same(k.Reason+": "+k.Message), k.Since))}
}

// blockedLoop finds that the kubelet reports its own sync loop as standing still.
func blockedLoop(c *Case) []Finding {
	if c.Kubelet == nil || c.Kubelet.SyncLoop == "" || c.Kubelet.SyncLoop == "ok" {
		return nil
	}
	return []Finding{c.found("node.syncLoopBlocked", "", nil, Certain, time.Time{},
		Evidence{Source: evidence.Port, Where: words.Same("/healthz/syncloop"), Text: words.Same(c.Kubelet.SyncLoop), At: c.Now})}
}

func goneNode(c *Case) []Finding {
	if c.Spec == nil || c.Spec.Spec.NodeName == "" || !slices.Contains(c.Cluster.Missing, "nodes/"+c.Spec.Spec.NodeName) {
		return nil
	}
	return []Finding{c.found("node.gone", "", nil, Certain, time.Time{}, c.object(words.Same("nodes/"+c.Spec.Spec.NodeName), words.Text("not found", "没有找到"), c.Now))}
}

// drainIsUnderWay is how long a cordoned node counts as one that is being drained.
const drainIsUnderWay = 6 * time.Hour

// blockedDrain finds that a budget keeps the pod on a cordoned node. A drain leaves daemons and
// static pods where they are.
func blockedDrain(c *Case) (out []Finding) {
	n := c.Cluster.Node
	if c.Spec == nil || n == nil || !n.Spec.Unschedulable || c.staysOnDrain() {
		return nil
	}
	i := slices.IndexFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable && t.TimeAdded != nil })
	if i < 0 || c.Now.Sub(n.Spec.Taints[i].TimeAdded.Time) > drainIsUnderWay {
		return nil
	}
	since := n.Spec.Taints[i].TimeAdded.Time
	for i := range c.Cluster.Budgets {
		b := &c.Cluster.Budgets[i]
		if b.Status.DisruptionsAllowed > 0 {
			continue
		}
		args := Args{"budget": b.Name, "healthy": strconv.Itoa(int(b.Status.CurrentHealthy)), "desired": strconv.Itoa(int(b.Status.DesiredHealthy))}
		out = append(out, c.found("node.drainBlocked", b.Name, args, Possible, since,
			c.object(words.Same("poddisruptionbudgets/"+b.Name), words.Same("disruptionsAllowed: 0"), c.Now), c.object(words.Same("nodes/"+n.Name), words.Same("unschedulable: true"), since)))
	}
	return out
}

func (c *Case) staysOnDrain() bool {
	return c.Spec.Annotations[corev1.MirrorPodAnnotationKey] != "" ||
		slices.ContainsFunc(c.Cluster.Owners, func(o evidence.Owner) bool { return o.Kind == "DaemonSet" })
}

// pressures are the conditions by which a kubelet reports that the node is short of something.
var pressures = map[string]string{
	string(corev1.NodeMemoryPressure): "memory", string(corev1.NodeDiskPressure): "disk", string(corev1.NodePIDPressure): "process IDs",
}

// pressedNode finds what a node is short of, and that it has no network, as its conditions report it.
func pressedNode(c *Case) (out []Finding) {
	for _, k := range c.conditions(true) {
		shown := c.object(words.With(words.Text("condition %s of node %s", "节点 %[2]s 的 condition %[1]s"), k.Type, c.args["node"]), words.Same(k.Status+" "+k.Reason+": "+k.Message), k.Since)
		switch what := pressures[k.Type]; {
		case k.Status != "True":
		case what != "":
			out = append(out, c.found("node.pressure", what, Args{"what": what, "condition": k.Type, "message": k.Message}, Certain, k.Since, shown))
		case k.Type == string(corev1.NodeNetworkUnavailable):
			out = append(out, c.found("node.networkUnavailable", "", Args{"message": k.Message}, Certain, k.Since, shown))
		}
	}
	return out
}

// closedNode finds what keeps new pods from a node: somebody has cordoned it, or it has taints of its own.
func closedNode(c *Case) (out []Finding) {
	n := c.Cluster.Node
	if n == nil {
		return nil
	}
	for _, t := range n.Spec.Taints {
		since := time.Time{}
		if t.TimeAdded != nil {
			since = t.TimeAdded.Time
		}
		shown := c.object(words.Same("taint "+t.Key), words.Same(strings.TrimPrefix(t.Value+":"+string(t.Effect), ":")), since)
		switch {
		case t.Key == corev1.TaintNodeUnschedulable:
			out = append(out, c.found("node.cordoned", "", nil, Certain, since, shown))
		case t.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(illness, t.Key):
			out = append(out, c.found("node.tainted", t.Key, Args{"taint": t.Key, "effect": string(t.Effect)}, Certain, since, shown))
		}
	}
	return out
}
