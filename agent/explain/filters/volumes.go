package filters

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
)

// bound returns the volumes that the pod's claims are bound to.
func (h *held) bound() (out []*corev1.PersistentVolume) {
	for i := range h.pod.Spec.Volumes {
		name := claimName(h.pod, &h.pod.Spec.Volumes[i])
		c := slices.IndexFunc(h.in.Claims, func(c corev1.PersistentVolumeClaim) bool { return name != "" && c.Name == name })
		if c < 0 {
			continue
		}
		for j := range h.in.Volumes {
			if v := &h.in.Volumes[j]; v.Name == h.in.Claims[c].Spec.VolumeName {
				out = append(out, v)
			}
		}
	}
	return out
}

// volumeNode is the part of VolumeBinding that holds bound volumes against a node.
func volumeNode(h *held, n *corev1.Node) *Refusal {
	labelled := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: n.Labels}}
	for _, v := range h.bound() {
		if v.Spec.NodeAffinity == nil || v.Spec.NodeAffinity.Required == nil {
			continue
		}
		if ok, err := schedulinghelper.MatchNodeSelectorTerms(labelled, v.Spec.NodeAffinity.Required); !ok || err != nil {
			return &Refusal{Filter: VolumeNode, Volume: v}
		}
	}
	return nil
}

// zones are the labels by which VolumeZone compares volumes with nodes, each with the name by which it came later.
var zones = []struct{ old, now string }{
	{corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone},
	{corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion},
	{corev1.LabelTopologyZone, corev1.LabelTopologyZone},
	{corev1.LabelTopologyRegion, corev1.LabelTopologyRegion},
}

// volumeZone is VolumeZone. A node without a zone takes every volume.
func volumeZone(h *held, n *corev1.Node) *Refusal {
	if !slices.ContainsFunc(zones, func(z struct{ old, now string }) bool { _, ok := n.Labels[z.old]; return ok }) {
		return nil
	}
	for _, v := range h.bound() {
		for _, z := range zones {
			of, ok := v.Labels[z.old]
			if !ok {
				continue
			}
			here, ok := n.Labels[z.old]
			if !ok {
				here, ok = n.Labels[z.now]
			}
			if values := zonesOf(of); len(values) > 0 && (!ok || !slices.Contains(values, here)) {
				return &Refusal{Filter: VolumeZone, Volume: v, Label: z.old}
			}
		}
	}
	return nil
}

// zonesOf returns the zones of a label: one, or several with two underscores between them. A label with an empty zone does
// not count.
func zonesOf(label string) (out []string) {
	for _, z := range strings.Split(label, "__") {
		z = strings.TrimSpace(z)
		if z == "" {
			return nil
		}
		out = append(out, z)
	}
	return out
}
