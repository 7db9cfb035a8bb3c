package filters

import (
	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// cordoned is NodeUnschedulable.
func cordoned(h *held, n *corev1.Node) *Refusal {
	closed := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if !n.Spec.Unschedulable || schedulinghelper.TolerationsTolerateTaint(klog.Logger{}, h.pod.Spec.Tolerations, &closed, false) {
		return nil
	}
	return &Refusal{Filter: Cordon}
}

// named is NodeName.
func named(h *held, n *corev1.Node) *Refusal {
	if h.pod.Spec.NodeName == "" || h.pod.Spec.NodeName == n.Name {
		return nil
	}
	return &Refusal{Filter: NodeName}
}

// tainted is TaintToleration.
func tainted(h *held, n *corev1.Node) *Refusal {
	if t := Untolerated(h.pod, n); t != nil {
		return &Refusal{Filter: Taint, Taint: t}
	}
	return nil
}

// Untolerated returns the first taint of a node that keeps a pod away; nil: the pod tolerates all of them.
func Untolerated(pod *corev1.Pod, n *corev1.Node) *corev1.Taint {
	keeps := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	t, untolerated := schedulinghelper.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, pod.Spec.Tolerations, keeps, false)
	if !untolerated {
		return nil
	}
	return &t
}

// selected is NodeAffinity, which looks at the node selector, too.
func selected(h *held, n *corev1.Node) *Refusal {
	if ok, _ := nodeaffinity.GetRequiredNodeAffinity(h.pod).Match(n); ok { // a term that cannot be read matches nothing
		return nil
	}
	return &Refusal{Filter: NodeAffinity}
}
