package filters

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Lack is a resource of which a node has too little left.
type Lack struct {
	Resource corev1.ResourceName
	// Asks is how much the pod asks for, Has how much the node has for pods, and Free the part of it that no pod has asked
	// for; it may be below zero. Of pods, Asks is one.
	Asks, Has, Free resource.Quantity
}

// Short is how much is missing.
func (l *Lack) Short() resource.Quantity {
	q := l.Asks.DeepCopy()
	q.Sub(l.Free)
	return q
}

// Never reports whether the node has too little even without pods.
func (l *Lack) Never() bool { return l.Asks.Cmp(l.Has) > 0 }

// amounts are how much of each resource is asked for, in the scheduler's units: thousandths of a core, bytes, pieces.
type amounts map[corev1.ResourceName]int64

func amountsOf(list corev1.ResourceList) amounts {
	out := amounts{}
	for name, q := range list {
		if isCounted(name) {
			out[name] = amount(name, q)
		}
	}
	return out
}

func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

func quantity(name corev1.ResourceName, n int64) resource.Quantity {
	switch {
	case name == corev1.ResourceCPU:
		return *resource.NewMilliQuantity(n, resource.DecimalSI)
	case name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
		return *resource.NewQuantity(n, resource.BinarySI)
	}
	return *resource.NewQuantity(n, resource.DecimalSI)
}

// isCounted reports whether the scheduler counts a resource.
func isCounted(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) ||
		strings.HasPrefix(string(name), corev1.ResourceAttachableVolumesPrefix)
}

// Asked returns how much a pod without a node asks for, as the scheduler counts it.
func Asked(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
}

// Taken returns how much a pod takes of its node, as the scheduler counts it: what it asks for, and while it is resized
// what it still has.
func Taken(pod *corev1.Pod) corev1.ResourceList {
	return resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{UseStatusResources: true, InPlacePodLevelResourcesVerticalScalingEnabled: true})
}

// resources is NodeResourcesFit.
func resources(h *held, n *corev1.Node) *Refusal {
	var lacks []Lack
	on := h.onNode[n.Name]
	limit := n.Status.Allocatable[corev1.ResourcePods]
	if int64(len(on))+1 > limit.Value() {
		lacks = append(lacks, lack(corev1.ResourcePods, 1, limit.Value(), limit.Value()-int64(len(on))))
	}
	has, taken := amountsOf(n.Status.Allocatable), amounts{}
	for _, i := range on {
		for name, q := range amountsOf(Taken(&h.in.Pods[i])) {
			taken[name] += q
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.asks)) {
		if asks := h.asks[name]; asks > 0 && asks > has[name]-taken[name] {
			lacks = append(lacks, lack(name, asks, has[name], has[name]-taken[name]))
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	return &Refusal{Filter: Resources, Lacks: lacks, Pods: h.holders(on, lacks)}
}

func lack(name corev1.ResourceName, asks, has, free int64) Lack {
	return Lack{name, quantity(name, asks), quantity(name, has), quantity(name, free)}
}

// holders returns the pods of a node that have asked for most of the first resource that is missing.
func (h *held) holders(on []int, lacks []Lack) []int {
	name := lacks[0].Resource
	asked := map[int]int64{}
	for _, i := range on {
		if n := amountsOf(Taken(&h.in.Pods[i]))[name]; n > 0 {
			asked[i] = n
		}
	}
	out := slices.Sorted(maps.Keys(asked))
	slices.SortStableFunc(out, func(a, b int) int { return int(min(1, max(-1, asked[b]-asked[a]))) })
	return out
}
