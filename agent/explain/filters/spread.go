package filters

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// constraint is a topology spread constraint, with the pods of its kind in each topology that counts.
type constraint struct {
	of       *corev1.TopologySpreadConstraint
	selector labels.Selector
	counts   map[string]int
}

// constraints returns the pod's constraints that keep it from nodes. A constraint that cannot be read makes the scheduler
// fail with an error of its own: then there are none.
func (h *held) constraints() (out []constraint) {
	all := h.pod.Spec.TopologySpreadConstraints
	for i := range all {
		if all[i].WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(all[i].LabelSelector)
		if err != nil {
			return nil
		}
		for _, key := range all[i].MatchLabelKeys {
			if v, ok := h.pod.Labels[key]; ok {
				more, _ := labels.SelectorFromSet(labels.Set{key: v}).Requirements()
				selector = selector.Add(more...)
			}
		}
		out = append(out, constraint{&all[i], selector, map[string]int{}})
	}
	for i := range h.in.Nodes {
		h.count(out, &h.in.Nodes[i])
	}
	return out
}

// count counts the pods of a node for all constraints. A node without one of their topologies counts for none.
func (h *held) count(all []constraint, n *corev1.Node) {
	if slices.ContainsFunc(all, func(c constraint) bool { _, ok := n.Labels[c.of.TopologyKey]; return !ok }) {
		return
	}
	for i := range all {
		if !h.includes(all[i].of, n) {
			continue
		}
		value := n.Labels[all[i].of.TopologyKey]
		all[i].counts[value] += h.ofKind(all[i].selector, n.Name)
	}
}

// includes reports whether a node counts for a constraint: by default even if it has a taint that the pod does not tolerate.
func (h *held) includes(c *corev1.TopologySpreadConstraint, n *corev1.Node) bool {
	if c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		if ok, _ := nodeaffinity.GetRequiredNodeAffinity(h.pod).Match(n); !ok {
			return false
		}
	}
	return c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy != corev1.NodeInclusionPolicyHonor || len(Untolerated(h.pod, n.Spec.Taints)) == 0
}

// ofKind counts the pods on a node that a constraint's selector chooses.
func (h *held) ofKind(selector labels.Selector, node string) (n int) {
	if selector.Empty() {
		return 0
	}
	for _, i := range h.onNode[node] {
		p := &h.in.Pods[i]
		if p.DeletionTimestamp == nil && p.Namespace == h.pod.Namespace && selector.Matches(labels.Set(p.Labels)) {
			n++
		}
	}
	return n
}

// least returns where a constraint counts fewest pods, and how many.
func (c *constraint) least() (at string, n int) {
	n = math.MaxInt32
	for value, count := range c.counts {
		if count < n || count == n && value < at {
			at, n = value, count
		}
	}
	if c.of.MinDomains != nil && len(c.counts) < int(*c.of.MinDomains) || c.of.MinDomains == nil && len(c.counts) < 1 {
		return "", 0
	}
	return at, n
}

// spread is PodTopologySpread.
func spread(h *held, n *corev1.Node) *Refusal {
	for i := range h.spread {
		c := &h.spread[i]
		value, ok := n.Labels[c.of.TopologyKey]
		if !ok {
			return &Refusal{Filter: Spread, Label: c.of.TopologyKey}
		}
		at, least := c.least()
		here := c.counts[value]
		if c.selector.Matches(labels.Set(h.pod.Labels)) {
			here++
		}
		if here-least > int(c.of.MaxSkew) {
			return &Refusal{Filter: Spread, Constraint: &Skew{c.of.TopologyKey, value, here, least, int(c.of.MaxSkew), at}}
		}
	}
	return nil
}
