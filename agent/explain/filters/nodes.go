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
	if all := Untolerated(h.pod, n.Spec.Taints); len(all) > 0 {
		return &Refusal{Filter: Taint, Taints: all}
	}
	return nil
}

// Untolerated returns those of a node's taints that keep a pod away, in the order in which the scheduler looks at them.
func Untolerated(pod *corev1.Pod, taints []corev1.Taint) (out []corev1.Taint) {
	for i := range taints {
		t := &taints[i]
		keeps := t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		if keeps && !schedulinghelper.TolerationsTolerateTaint(klog.Logger{}, pod.Spec.Tolerations, t, false) {
			out = append(out, *t)
		}
	}
	return out
}

// selected is NodeAffinity, which looks at the node selector, too.
func selected(h *held, n *corev1.Node) *Refusal {
	if ok, _ := nodeaffinity.GetRequiredNodeAffinity(h.pod).Match(n); ok { // a term that cannot be read matches nothing
		return nil
	}
	return &Refusal{Filter: NodeAffinity}
}
