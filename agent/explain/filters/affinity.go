package filters

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term is one term of a pod affinity or anti-affinity.
type term struct {
	key        string
	selector   labels.Selector
	in         []string
	namespaces labels.Selector
}

// matches reports whether a term is about a pod.
func (t *term) matches(p *corev1.Pod, namespaces map[string]labels.Set) bool {
	return (slices.Contains(t.in, p.Namespace) || t.namespaces.Matches(namespaces[p.Namespace])) && t.selector.Matches(labels.Set(p.Labels))
}

// termsOf reads the terms of a pod. With one that cannot be read, the scheduler goes by none.
func termsOf(p *corev1.Pod, all []corev1.PodAffinityTerm) (out []term) {
	for i := range all {
		selector, err := metav1.LabelSelectorAsSelector(all[i].LabelSelector)
		if err != nil {
			return nil
		}
		namespaces, err := metav1.LabelSelectorAsSelector(all[i].NamespaceSelector)
		if err != nil {
			return nil
		}
		in := all[i].Namespaces
		if len(in) == 0 && all[i].NamespaceSelector == nil {
			in = []string{p.Namespace}
		}
		out = append(out, term{all[i].TopologyKey, selector, in, namespaces})
	}
	return out
}

func wanted(p *corev1.Pod) []corev1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAffinity != nil {
		return a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

func excluded(p *corev1.Pod) []corev1.PodAffinityTerm {
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		return a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return nil
}

// SelectsNamespaces reports whether an affinity of a pod, or an anti-affinity of others, selects namespaces by their labels.
func SelectsNamespaces(pod *corev1.Pod, others []corev1.Pod) bool {
	selects := func(t corev1.PodAffinityTerm) bool {
		s := t.NamespaceSelector
		return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
	}
	return slices.ContainsFunc(wanted(pod), selects) || slices.ContainsFunc(excluded(pod), selects) ||
		slices.ContainsFunc(others, func(p corev1.Pod) bool { return slices.ContainsFunc(excluded(&p), selects) })
}

// topology is a label of nodes with its value.
type topology struct{ key, value string }

// affinities are the topologies that the pod's terms and those of other pods are about, each with the pods there.
type affinities struct {
	wanted, excluded         []term
	near, away, awayOfOthers map[topology][]int
}

func (h *held) affinities() affinities {
	a := affinities{
		wanted: termsOf(h.pod, wanted(h.pod)), excluded: termsOf(h.pod, excluded(h.pod)),
		near: map[topology][]int{}, away: map[topology][]int{}, awayOfOthers: map[topology][]int{},
	}
	for i := range h.in.Nodes {
		n := &h.in.Nodes[i]
		for _, j := range h.onNode[n.Name] {
			h.relate(&a, n, j)
		}
	}
	return a
}

// relate adds one pod on a node to the topologies.
func (h *held) relate(a *affinities, n *corev1.Node, j int) {
	p := &h.in.Pods[j]
	add := func(to map[topology][]int, t *term) {
		if v, ok := n.Labels[t.key]; ok {
			to[topology{t.key, v}] = append(to[topology{t.key, v}], j)
		}
	}
	if h.wantsAll(a.wanted, p) {
		for i := range a.wanted {
			add(a.near, &a.wanted[i])
		}
	}
	for i := range a.excluded {
		if a.excluded[i].matches(p, h.in.Namespaces) {
			add(a.away, &a.excluded[i])
		}
	}
	others := termsOf(p, excluded(p))
	for i := range others {
		if others[i].matches(h.pod, h.in.Namespaces) {
			add(a.awayOfOthers, &others[i])
		}
	}
}

// wantsAll reports whether all of the pod's terms are about another pod.
func (h *held) wantsAll(all []term, p *corev1.Pod) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(t term) bool { return !t.matches(p, h.in.Namespaces) })
}

// podAffinity is the part of InterPodAffinity about pods that this one wants to be near to. The first pod of a series that
// wants to be together may go anywhere.
func podAffinity(h *held, n *corev1.Node) *Refusal {
	missing := (*term)(nil)
	for i := range h.terms.wanted {
		t := &h.terms.wanted[i]
		v, ok := n.Labels[t.key]
		if !ok {
			return &Refusal{Filter: PodAffinity, Label: t.key, Selector: t.selector.String()}
		}
		if len(h.terms.near[topology{t.key, v}]) == 0 {
			missing = t
		}
	}
	if missing == nil || len(h.terms.near) == 0 && h.wantsAll(h.terms.wanted, h.pod) {
		return nil
	}
	return &Refusal{Filter: PodAffinity, Selector: missing.selector.String()}
}

// podAntiAffinity is the part of InterPodAffinity about pods that this one wants to be away from.
func podAntiAffinity(h *held, n *corev1.Node) *Refusal {
	for i := range h.terms.excluded {
		t := &h.terms.excluded[i]
		if v, ok := n.Labels[t.key]; ok && len(h.terms.away[topology{t.key, v}]) > 0 {
			return &Refusal{Filter: PodAntiAffinity, Selector: t.selector.String(), Pods: h.terms.away[topology{t.key, v}]}
		}
	}
	return nil
}

// existingAntiAffinity is the part of InterPodAffinity about pods that want to be away from this one.
func existingAntiAffinity(h *held, n *corev1.Node) *Refusal {
	for key, value := range n.Labels {
		if there := h.terms.awayOfOthers[topology{key, value}]; len(there) > 0 {
			return &Refusal{Filter: ExistingAntiAffinity, Pods: there}
		}
	}
	return nil
}

// Wanted counts the pods that all terms of a pod's affinity are about, wherever they are.
func Wanted(pod *corev1.Pod, in *Cluster) (n int) {
	h := &held{pod: pod, in: in}
	all := termsOf(pod, wanted(pod))
	for i := range in.Pods {
		if h.wantsAll(all, &in.Pods[i]) {
			n++
		}
	}
	return n
}
