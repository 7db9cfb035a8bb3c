package filters

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Filter is one of the scheduler's filters.
type Filter string

// The filters, in the order in which the scheduler asks them. PodAffinity and those after it are one plugin,
// InterPodAffinity.
const (
	Cordon               Filter = "NodeUnschedulable"
	NodeName             Filter = "NodeName"
	Taint                Filter = "TaintToleration"
	NodeAffinity         Filter = "NodeAffinity"
	Ports                Filter = "NodePorts"
	Resources            Filter = "NodeResourcesFit"
	VolumeNode           Filter = "VolumeBinding"
	VolumeZone           Filter = "VolumeZone"
	Spread               Filter = "PodTopologySpread"
	PodAffinity          Filter = "PodAffinity"
	PodAntiAffinity      Filter = "PodAntiAffinity"
	ExistingAntiAffinity Filter = "ExistingAntiAffinity"
)

// Cluster is what the filters go by.
type Cluster struct {
	Nodes []corev1.Node
	// Pods are those that have a node and have not ended. Only the parts that filters ask for matter. Partial reports that
	// there are more of them than these.
	Pods    []corev1.Pod
	Partial bool
	// Claims are those of the pod, and Volumes the ones that these are bound to.
	Claims  []corev1.PersistentVolumeClaim
	Volumes []corev1.PersistentVolume
	// Namespaces are the labels of all namespaces; nil: not known.
	Namespaces map[string]labels.Set
}

// Refusal says why one filter refuses the pod on one node.
type Refusal struct {
	Filter Filter
	// Taints are those that the pod does not tolerate.
	Taints []corev1.Taint
	// Lacks are the resources that do not suffice.
	Lacks []Lack
	// Pods are the pods that are in the way, as indices of Cluster.Pods.
	Pods []int
	// Port is the first host port that is taken.
	Port *corev1.ContainerPort
	// Volume is the one that cannot be used from the node.
	Volume *corev1.PersistentVolume
	// Constraint is the topology spread constraint that the pod would break; nil: none, or the node lacks its label.
	Constraint *Skew
	// Label is the label of a topology that the node does not have; empty: it has all.
	Label string
	// Selector chooses the pods that an affinity asks for or excludes.
	Selector string
}

// Skew is a topology spread constraint with the numbers that break it.
type Skew struct {
	Key, Value string
	// Here counts the pods of its kind in the node's topology with this pod, and Least those where they are fewest.
	Here, Least, Max int
	// LeastAt names a topology where they are fewest.
	LeastAt string
}

// Verdict says of one node by which filters the pod is refused there, in the scheduler's order; none: it fits.
type Verdict struct {
	Node     *corev1.Node
	Refusals []Refusal
}

// Of returns the refusal by a filter; nil: the filter lets the pod pass.
func (v *Verdict) Of(f Filter) *Refusal {
	for i := range v.Refusals {
		if v.Refusals[i].Filter == f {
			return &v.Refusals[i]
		}
	}
	return nil
}

// Passes reports whether none of some filters refuses the pod.
func (v *Verdict) Passes(all ...Filter) bool {
	for _, f := range all {
		if v.Of(f) != nil {
			return false
		}
	}
	return true
}

// held is a pod that is held against the nodes of a cluster, with what is the same for all of them.
type held struct {
	pod    *corev1.Pod
	in     *Cluster
	onNode map[string][]int // indices of Cluster.Pods by node
	asks   amounts
	spread []constraint
	terms  affinities
}

// Hold holds a pod against each node of a cluster.
func Hold(pod *corev1.Pod, in *Cluster) []Verdict {
	h := &held{pod: pod, in: in, onNode: map[string][]int{}, asks: amountsOf(Asked(pod))}
	for i := range in.Pods {
		n := in.Pods[i].Spec.NodeName
		h.onNode[n] = append(h.onNode[n], i)
	}
	h.spread = h.constraints()
	h.terms = h.affinities()
	out := make([]Verdict, len(in.Nodes))
	for i := range in.Nodes {
		out[i].Node = &in.Nodes[i]
		for _, look := range looks {
			if r := look(h, &in.Nodes[i]); r != nil {
				out[i].Refusals = append(out[i].Refusals, *r)
			}
		}
	}
	return out
}

// looks are the filters, in the scheduler's order.
var looks = []func(*held, *corev1.Node) *Refusal{
	cordoned, named, tainted, selected, ports, resources, volumeNode, volumeZone, spread, podAffinity, podAntiAffinity, existingAntiAffinity,
}

// Unlooked names the filters of the scheduler that matter for a pod and that Hold does not know, or cannot ask for want of
// evidence.
func Unlooked(pod *corev1.Pod, in *Cluster) (out []string) {
	bound := map[string]bool{}
	for i := range in.Claims {
		for j := range in.Volumes {
			bound[in.Claims[i].Name] = bound[in.Claims[i].Name] || in.Claims[i].Spec.VolumeName == in.Volumes[j].Name
		}
	}
	volumes, unbound := false, false
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if name := claimName(pod, v); name != "" {
			volumes, unbound = true, unbound || !bound[name]
		}
		volumes = volumes || v.CSI != nil || v.GCEPersistentDisk != nil || v.AWSElasticBlockStore != nil || v.RBD != nil || v.ISCSI != nil
	}
	if in.Partial {
		out = append(out, "the pods of some nodes")
	}
	if unbound {
		out = append(out, "volumes for claims that are not bound (VolumeBinding)")
	}
	if volumes {
		out = append(out, "NodeVolumeLimits", "VolumeRestrictions")
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		out = append(out, "DynamicResources")
	}
	if in.Namespaces == nil && SelectsNamespaces(pod, in.Pods) {
		out = append(out, "namespaceSelector of InterPodAffinity")
	}
	return out
}

// claimName returns the name of the claim that a volume of a pod uses; empty: it uses none.
func claimName(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}
