package gather

import (
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/filters"
)

// storage asks for the pod's claims, and for what each of them leads to.
func (a *ask) storage(p *corev1.Pod) {
	var each []func()
	for _, name := range claimsOf(p) {
		each = append(each, func() { a.claim(name) })
	}
	if len(each) == 0 && !hasCSI(p) {
		return
	}
	if node := p.Spec.NodeName; node != "" {
		each = append(each, func() { a.csiNode(node) }, func() { a.attachments(node) })
	}
	each = append(each, a.drivers)
	if len(each) > 0 {
		each = append(each, func() { a.neighbours(p) })
	}
	together(each...)
	a.put(func(s *evidence.Snapshot) {
		s.Cluster.Attachments = attachmentsOf(s.Cluster.Attachments, s.Cluster.Volumes)
	})
}

// attachmentsOf returns the attachments of some volumes.
func attachmentsOf(all []storagev1.VolumeAttachment, volumes []corev1.PersistentVolume) (out []storagev1.VolumeAttachment) {
	for i := range all {
		name := all[i].Spec.Source.PersistentVolumeName
		if name != nil && slices.ContainsFunc(volumes, func(v corev1.PersistentVolume) bool { return v.Name == *name }) {
			out = append(out, all[i])
		}
	}
	return out
}

// claimsOf returns the names of the claims that a pod uses: those that it names, and those that
// are made for it.
func claimsOf(p *corev1.Pod) (out []string) {
	for _, v := range p.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, p.Name+"-"+v.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func hasCSI(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.CSI != nil })
}

// claim asks for a claim, its events, its volume and its class.
func (a *ask) claim(name string) {
	var c corev1.PersistentVolumeClaim
	if !a.get("api/v1/namespaces/"+a.s.Name.Namespace+"/persistentvolumeclaims/"+name, nil, "persistentvolumeclaims/"+name, &c) {
		return
	}
	c.ManagedFields, c.Annotations = nil, keep(c.Annotations, "volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-class")
	a.put(func(s *evidence.Snapshot) { s.Cluster.Claims = append(s.Cluster.Claims, c) })
	each := []func(){func() { a.eventsOf("PersistentVolumeClaim", name) }}
	if c.Spec.VolumeName != "" {
		each = append(each, func() { a.volume(c.Spec.VolumeName) })
	}
	if class := c.Spec.StorageClassName; class != nil && *class != "" {
		each = append(each, func() { a.class(*class) })
	}
	together(each...)
}

func keep(annotations map[string]string, names ...string) map[string]string {
	out := map[string]string{}
	for _, n := range names {
		if v, ok := annotations[n]; ok {
			out[n] = v
		}
	}
	return out
}

func (a *ask) volume(name string) {
	var v corev1.PersistentVolume
	if !a.get("api/v1/persistentvolumes/"+name, nil, "persistentvolumes/"+name, &v) {
		return
	}
	v.ManagedFields, v.Annotations = nil, nil
	if v.Spec.CSI != nil {
		v.Spec.CSI.VolumeAttributes = nil
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.Volumes = append(s.Cluster.Volumes, v) })
}

func (a *ask) class(name string) {
	var c storagev1.StorageClass
	if !a.get("apis/storage.k8s.io/v1/storageclasses/"+name, nil, "storageclasses/"+name, &c) {
		return
	}
	c.ManagedFields, c.Annotations, c.Parameters = nil, nil, nil
	a.put(func(s *evidence.Snapshot) { s.Cluster.Classes = append(s.Cluster.Classes, c) })
}

func (a *ask) csiNode(node string) {
	var c storagev1.CSINode
	if a.get("apis/storage.k8s.io/v1/csinodes/"+node, nil, "csinodes/"+node, &c) {
		c.ManagedFields, c.Annotations = nil, nil
		a.put(func(s *evidence.Snapshot) { s.Cluster.CSINode = &c })
	}
}

// drivers asks for the CSI drivers of the cluster, of which there are few.
func (a *ask) drivers() {
	items, _ := all[storagev1.CSIDriver](a, "apis/storage.k8s.io/v1/csidrivers", nil, "csidrivers")
	for i := range items {
		items[i].ManagedFields, items[i].Annotations = nil, nil
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.Drivers = items })
}

// attachments asks which volumes are attached. There is no selector for attachments, so all are
// read. Those of other volumes are dropped once the pod's volumes are known.
func (a *ask) attachments(string) {
	items, _ := all[storagev1.VolumeAttachment](a, "apis/storage.k8s.io/v1/volumeattachments", nil, "volumeattachments")
	for i := range items {
		items[i].ManagedFields, items[i].Annotations = nil, nil
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.Attachments = items })
}

// portHolders asks which other pods of the node have the host ports for which the kubelet has refused the pod.
func (a *ask) portHolders(p *corev1.Pod) {
	if p.Status.Reason != "NodePorts" || p.Spec.NodeName == "" {
		return
	}
	running := url.Values{"fieldSelector": {"spec.nodeName=" + p.Spec.NodeName + ",status.phase!=Failed,status.phase!=Succeeded"}}
	pods, _ := all[corev1.Pod](a, "api/v1/pods", running, "pods of the node")
	for i := range pods {
		o := &pods[i]
		if ports := filters.Conflicts(p, o); len(ports) > 0 && o.UID != p.UID {
			n := neighbour(o)
			n.Ports = ports
			a.put(func(s *evidence.Snapshot) { s.Cluster.Neighbours = append(s.Cluster.Neighbours, n) })
		}
	}
}

// neighbours asks which other pods of the namespace use the pod's claims.
func (a *ask) neighbours(p *corev1.Pod) {
	mine := claimsOf(p)
	if len(mine) == 0 {
		return
	}
	pods, _ := all[corev1.Pod](a, "api/v1/namespaces/"+p.Namespace+"/pods", url.Values{}, "pods of the namespace")
	for i := range pods {
		o := &pods[i]
		if o.UID == p.UID {
			continue
		}
		var shared []string
		for _, c := range claimsOf(o) {
			if slices.Contains(mine, c) {
				shared = append(shared, c)
			}
		}
		if len(shared) > 0 {
			n := neighbour(o)
			n.Claims = shared
			a.put(func(s *evidence.Snapshot) { s.Cluster.Neighbours = append(s.Cluster.Neighbours, n) })
		}
	}
}

// neighbour returns another pod, without what it shares.
func neighbour(o *corev1.Pod) evidence.Neighbour {
	n := evidence.Neighbour{
		Name: evidence.Name{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID)}, Node: o.Spec.NodeName,
		Phase: string(o.Status.Phase), Gone: o.DeletionTimestamp != nil,
	}
	if owner := metav1.GetControllerOf(o); owner != nil && owner.Kind == "ReplicaSet" {
		n.ReplicaSet = owner.Name
	}
	return n
}
