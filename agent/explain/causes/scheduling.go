package causes

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/probes/words"
)

// schedulingChecks are the checks of table/scheduling.yaml.
var schedulingChecks = []check{unlooked, ganged, gated, nominated, absentNode, unknownTaints, cannotFit, unboundClaims}

// unlooked finds why no scheduler has said anything of a pod.
func unlooked(c *Case) []Finding {
	if c.Phase != Unscheduled || condition(c.Spec, corev1.PodScheduled) != nil || c.Spec.Status.NominatedNodeName != "" {
		return nil
	}
	if slices.ContainsFunc(c.Cluster.Events, func(e evidence.Event) bool { return e.Kind == "Pod" && e.Reason == "FailedScheduling" }) {
		return nil
	}
	if f := c.unmadeClaim(); f != nil {
		return f
	}
	p := c.Spec
	shown := c.status(inStatus, words.Text("no condition PodScheduled", "没有 condition PodScheduled"), c.Since)
	if p.Spec.SchedulingGroup != nil {
		return nil
	}
	name := cmp.Or(p.Spec.SchedulerName, corev1.DefaultSchedulerName)
	args := Args{"scheduler": name}
	spec := c.object(words.Same("pods/"+p.Name+" spec"), words.Same("schedulerName: "+name), c.Since)
	switch {
	case name == corev1.DefaultSchedulerName:
		if slices.Contains(c.Cluster.Schedulers, "kube-scheduler") {
			shown = c.status(inStatus, words.Text("no condition PodScheduled, though kube-scheduler renews its lease", "没有 condition PodScheduled，但 kube-scheduler 在续租"), c.Since)
		}
		return []Finding{c.found("scheduling.schedulerSilent", "", args, Likely, c.Since, shown)}
	case slices.Contains(c.Cluster.Schedulers, name):
		return []Finding{c.found("scheduling.noScheduler", "", args, Possible, c.Since, spec, shown)}
	}
	return []Finding{c.found("scheduling.noScheduler", "", args, Likely, c.Since, spec, shown)}
}

// unmadeClaim finds the ResourceClaims that the pod waits for before it is queued.
func (c *Case) unmadeClaim() (out []Finding) {
	for _, r := range c.Spec.Spec.ResourceClaims {
		name, why := "", ""
		switch {
		case r.ResourceClaimName != nil && slices.Contains(c.Cluster.Missing, "resourceclaims/"+*r.ResourceClaimName):
			name, why = *r.ResourceClaimName, "the API server does not have it"
		case r.ResourceClaimTemplateName != nil && !slices.ContainsFunc(c.Spec.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == r.Name }):
			name, why = r.Name, "no claim was made from the template "+*r.ResourceClaimTemplateName
		default:
			continue
		}
		f := c.found("scheduling.claimNotMade", name, Args{"claim": name}, Certain, c.Since, c.object(words.Same("pods/"+c.Spec.Name+" spec.resourceClaims"), words.Same(name+": "+why), c.Since))
		for i := range c.Cluster.Events {
			if e := &c.Cluster.Events[i]; e.Reason == "FailedResourceClaimCreation" && e.Kind == "Pod" {
				f.Evidence = append(f.Evidence, c.event(e))
			}
		}
		out = append(out, f)
	}
	return out
}

// ganged finds that the pod waits for others of its group: before it is looked at, or
// when it has a node in mind.
func ganged(c *Case) []Finding {
	if c.Phase != Unscheduled || c.Spec.Spec.SchedulingGroup == nil || c.Spec.Spec.SchedulingGroup.PodGroupName == nil {
		return nil
	}
	args := Args{"group": *c.Spec.Spec.SchedulingGroup.PodGroupName}
	if condition(c.Spec, corev1.PodScheduled) == nil {
		return []Finding{c.found("scheduling.gang", "", args, Likely, c.Since, c.status(inStatus, words.Text("no condition PodScheduled, and a scheduling group", "没有 condition PodScheduled，且属于一个调度组"), c.Since))}
	}
	if r, ok := c.refusal(); ok && (strings.Contains(r.text, "from a gang") || strings.Contains(r.text, "GangScheduling")) {
		return []Finding{c.found("scheduling.gang", "", args, r.sure, r.since, r.shown)}
	}
	return nil
}

func gated(c *Case) []Finding {
	if c.Phase != Unscheduled || len(c.Spec.Spec.SchedulingGates) == 0 {
		return nil
	}
	var names []string
	for _, g := range c.Spec.Spec.SchedulingGates {
		names = append(names, g.Name)
	}
	text := strings.Join(names, ", ")
	return []Finding{c.found("scheduling.gated", "", Args{"gates": text}, Certain, c.Since, c.object(words.Same("pods/"+c.Spec.Name+" spec.schedulingGates"), words.Same(text), c.Since))}
}

// nominated finds why a pod with a chosen node is not bound to it: the scheduler clears the node for the pod, or the pod waits
// for its volumes or devices there.
func nominated(c *Case) []Finding {
	if c.Phase != Unscheduled || c.Spec.Status.NominatedNodeName == "" {
		return nil
	}
	node := c.Spec.Status.NominatedNodeName
	args, shown := Args{"nominated": node}, c.status(inStatus, words.Same("nominatedNodeName: "+node), c.Since)
	victims := c.victims(node)
	if len(victims) > 0 {
		return []Finding{c.found("scheduling.preempting", "", args, Certain, c.Since, append([]Evidence{shown}, victims...)...)}
	}
	if _, refused := c.refusal(); refused && (c.Cluster.Placed == nil || c.Cluster.Placed.Partial) {
		return []Finding{c.found("scheduling.preempting", "", args, Likely, c.Since, shown)}
	}
	return []Finding{c.found("scheduling.chosen", "", args, Likely, c.Since, shown)}
}

// victims shows the pods on a node that are put away for this pod: they are less important, and are being deleted.
func (c *Case) victims(node string) (out []Evidence) {
	if c.Cluster.Placed == nil {
		return nil
	}
	for i := range c.Cluster.Placed.Pods {
		p := &c.Cluster.Placed.Pods[i]
		if p.Spec.NodeName != node || schedulinghelper.PodPriority(p) >= schedulinghelper.PodPriority(c.Spec) {
			continue
		}
		k := condition(p, corev1.DisruptionTarget)
		preempted := k != nil && k.Status == corev1.ConditionTrue && k.Reason == corev1.PodReasonPreemptionByScheduler
		if p.DeletionTimestamp != nil && (k == nil || preempted) || preempted {
			out = append(out, c.object(words.Same("pods/"+p.Name+" -n "+p.Namespace), words.Text("is being deleted, and is less important", "正在被删除，且优先级更低"), timeOf(p.DeletionTimestamp)))
		}
	}
	return out
}

func absentNode(c *Case) []Finding {
	if c.Phase != Bound || !slices.Contains(c.Cluster.Missing, "nodes/"+c.Spec.Spec.NodeName) {
		return nil
	}
	return []Finding{c.found("scheduling.nodeMissing", "", nil, Certain, c.Since, c.object(words.Same("nodes/"+c.Spec.Spec.NodeName), words.Text("not found", "没有找到"), c.Now))}
}

// illness are the taints that the control plane gives to nodes that are not well.
var illness = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeMemoryPressure, corev1.TaintNodeDiskPressure,
	corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable, "node.cloudprovider.kubernetes.io/uninitialized",
}

// unknownTaints names the taints for which a scheduler refuses nodes: since 1.36 its
// message does not.
func unknownTaints(c *Case) []Finding {
	r, ok := c.refusal()
	if !ok {
		return nil
	}
	i := slices.IndexFunc(r.reasons, func(r reason) bool {
		return strings.Contains(r.text, "untolerated taint") || strings.Contains(r.text, "that the pod didn't tolerate")
	})
	if i < 0 {
		return nil
	}
	ill, other := tainted{}, tainted{}
	for _, n := range c.Cluster.Candidates {
		all := filters.Untolerated(c.Spec, n.Taints)
		switch {
		case n.Unschedulable || len(all) == 0:
		case slices.Contains(illness, all[0].Key): // the scheduler's message is about the first one
			ill.add(n.Name, &all[0])
		default:
			other.add(n.Name, &all[0])
		}
	}
	var out []Finding
	for id, t := range map[string]*tainted{"scheduling.nodesIll": &ill, "scheduling.taint": &other} {
		if len(t.nodes) > 0 {
			out = append(out, c.refusedFor(id, r, len(t.nodes), Args{"taints": t.String()}, c.object(words.Text("nodes", "节点"), words.Same(t.String()+": "+strings.Join(t.nodes, ", ")), c.Now)))
		}
	}
	if len(out) == 0 {
		out = append(out, c.refusedFor("scheduling.taintUnnamed", r, r.reasons[i].nodes, nil))
	}
	return out
}

// refusedFor makes a finding of a scheduler's message for some of the nodes.
func (c *Case) refusedFor(id string, r refusal, nodes int, args Args, more ...Evidence) Finding {
	all := Args{"count": fmt.Sprint(nodes), "nodes": fmt.Sprint(r.nodes), "message": r.text}
	for k, v := range args {
		all[k] = v
	}
	f := c.found(id, args["resource"], all, r.sure, r.since, append([]Evidence{r.shown}, more...)...)
	f.Nodes = nodes
	return f
}

// tainted are nodes with the taints that close them.
type tainted struct{ nodes, taints []string }

func (t *tainted) add(node string, taint *corev1.Taint) {
	t.nodes = append(t.nodes, node)
	if text := taint.ToString(); !slices.Contains(t.taints, text) {
		t.taints = append(t.taints, text)
	}
}

func (t *tainted) String() string { return strings.Join(t.taints, ", ") }

// unboundClaims finds why the claims of a pod without a node have no volume.
func unboundClaims(c *Case) (out []Finding) {
	if c.Phase != Unscheduled {
		return nil
	}
	for i := range c.Cluster.Claims {
		k := &c.Cluster.Claims[i]
		switch k.Status.Phase {
		case corev1.ClaimPending:
			if f, ok := c.unbound(k); ok {
				out = append(out, f)
			}
		case corev1.ClaimLost:
			out = append(out, c.lostClaim(k))
		}
	}
	return out
}

// lostClaim makes the finding on a claim whose volume is gone.
func (c *Case) lostClaim(k *corev1.PersistentVolumeClaim) Finding {
	return c.found("scheduling.claim.lost", k.Name, Args{"claim": k.Name, "volume": k.Spec.VolumeName}, Certain, c.Since,
		c.object(words.Same("persistentvolumeclaims/"+k.Name), words.With(words.Text("phase Lost, volumeName %s", "phase Lost，volumeName %s"), k.Spec.VolumeName), c.Now))
}

var provisionerOf = regexp.MustCompile(`external provisioner '([^']+)'`)

// unbound finds why a claim is Pending. ok is false if the claim only waits until its pod is
// scheduled, or if nothing is known of why.
func (c *Case) unbound(k *corev1.PersistentVolumeClaim) (f Finding, ok bool) {
	args := Args{"claim": k.Name}
	class := ""
	if k.Spec.StorageClassName != nil {
		class = *k.Spec.StorageClassName
	}
	if class != "" && slices.Contains(c.Cluster.Missing, "storageclasses/"+class) {
		args["class"] = class
		return c.found("scheduling.claim.classMissing", k.Name, args, Certain, c.Since, c.object(words.Same("storageclasses/"+class), words.Text("not found", "没有找到"), c.Now)), true
	}
	e := c.lastEventOf("PersistentVolumeClaim", k.Name)
	if e == nil {
		return f, false
	}
	args["message"] = e.Message
	switch e.Reason {
	case "FailedBinding":
		return c.found("scheduling.claim.noClass", k.Name, args, Likely, e.First, c.event(e)), class == ""
	case "ProvisioningFailed":
		return c.found("scheduling.claim.provisioningFailed", k.Name, args, Likely, e.First, c.event(e)), true
	case "ExternalProvisioning", "Provisioning":
		if m := provisionerOf.FindStringSubmatch(e.Message); m != nil {
			args["provisioner"] = m[1]
		} else {
			args["provisioner"] = cmp.Or(k.Annotations["volume.kubernetes.io/storage-provisioner"], class)
		}
		return c.found("scheduling.claim.provisioning", k.Name, args, Likely, e.First, c.event(e)), true
	}
	return f, false
}

// lastEventOf returns the last event about an object that may say why the object is not ready; nil: none.
func (c *Case) lastEventOf(kind, name string) *evidence.Event {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if e.Kind == kind && e.Name == name && e.Reason != "WaitForPodScheduled" {
			return e
		}
	}
	return nil
}
