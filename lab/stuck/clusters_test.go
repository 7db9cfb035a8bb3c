package stuck

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gpu is a resource that few of the made nodes offer.
const gpu = "example.com/gpu"

func (m *made) taint() corev1.Taint {
	return corev1.Taint{
		Key: oneOf(m, "dedicated", "pool", corev1.TaintNodeUnschedulable), Value: oneOf(m, "", "a", "b"),
		Effect: oneOf(m, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule),
	}
}

func (m *made) addNode(i int) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{corev1.LabelHostname: fmt.Sprintf("node-%d", i)}}}
	if !m.once(6) {
		n.Labels[oneOf(m, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone)] = oneOf(m, "a", "b", "c")
	}
	n.Labels["disk"] = oneOf(m, "ssd", "hdd")
	n.Labels["cores"] = oneOf(m, "4", "8", "many")
	n.Spec.Unschedulable = m.once(6)
	for range m.IntN(4) / 2 {
		n.Spec.Taints = append(n.Spec.Taints, m.taint())
	}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(oneOf(m, "4", "8", "1500m")), corev1.ResourceMemory: resource.MustParse(oneOf(m, "8Gi", "2G", "512Mi")),
		corev1.ResourcePods: resource.MustParse(oneOf(m, "110", "110", "3")), corev1.ResourceEphemeralStorage: resource.MustParse("10Gi"),
	}
	if m.once(3) {
		n.Status.Allocatable[gpu] = resource.MustParse("2")
	}
	if m.once(4) {
		n.Status.Allocatable["hugepages-2Mi"] = resource.MustParse("64Mi")
	}
	m.nodes = append(m.nodes, n)
}

func (m *made) list(large bool) corev1.ResourceList {
	out := corev1.ResourceList{}
	if !m.once(3) {
		out[corev1.ResourceCPU] = resource.MustParse(oneOf(m, "0", "100m", "0.3", "1500m"))
	}
	if m.once(2) {
		out[corev1.ResourceMemory] = resource.MustParse(oneOf(m, "64Mi", "100M", "1Gi"))
	}
	if m.once(8) {
		out[corev1.ResourceEphemeralStorage] = resource.MustParse(oneOf(m, "1Gi", "6Gi"))
	}
	if m.once(8) {
		out[gpu] = resource.MustParse("1")
	}
	if m.once(12) {
		out["hugepages-2Mi"] = resource.MustParse("32Mi")
	}
	if large && m.once(8) {
		out[corev1.ResourceCPU] = resource.MustParse("7")
	}
	return out
}

func (m *made) container(name string, large bool) corev1.Container {
	c := corev1.Container{Name: name, Image: "made", Resources: corev1.ResourceRequirements{Requests: m.list(large)}}
	if m.once(5) {
		c.Ports = append(c.Ports, corev1.ContainerPort{
			ContainerPort: 80, HostPort: oneOf[int32](m, 0, 80, 8080), HostIP: oneOf(m, "", "", "10.0.0.1", "10.0.0.2"), Protocol: oneOf(m, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		})
	}
	return c
}

// shape gives a pod containers of all kinds, and what is counted for the pod as a whole.
func (m *made) shape(p *corev1.Pod, large bool) {
	for i := range 1 + m.IntN(2) {
		p.Spec.Containers = append(p.Spec.Containers, m.container(fmt.Sprintf("app-%d", i), large))
	}
	for i := range m.IntN(5) / 2 {
		c := m.container(fmt.Sprintf("init-%d", i), false)
		if m.once(2) {
			always := corev1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	if m.once(6) {
		p.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}
	}
	if m.once(8) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourceMemory: resource.MustParse("2Gi")}}
	}
}

func (m *made) selector() *metav1.LabelSelector {
	switch m.IntN(6) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"}}}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": oneOf(m, "web", "db", "cache")}}
}

func (m *made) affinityTerms(n int) (out []corev1.PodAffinityTerm) {
	for range n {
		t := corev1.PodAffinityTerm{LabelSelector: m.selector(), TopologyKey: oneOf(m, corev1.LabelHostname, corev1.LabelTopologyZone, "disk")}
		if m.once(4) {
			t.Namespaces = []string{"bank", "mail"}
		}
		if m.once(4) {
			t.NamespaceSelector = oneOf(m, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}})
		}
		out = append(out, t)
	}
	return out
}

func (m *made) addPod(i int) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("pod-%d", i), Namespace: oneOf(m, "shop", "shop", "bank", "mail"), UID: types.UID(fmt.Sprintf("uid-%d", i)),
		Labels: map[string]string{"app": oneOf(m, "web", "db", "cache"), "version": oneOf(m, "1", "2")},
	}}
	m.shape(p, false)
	p.Spec.NodeName = oneOf(m, m.nodes...).Name
	p.Status.Phase = corev1.PodRunning
	if m.once(5) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.affinityTerms(1)}}
	}
	if m.once(8) {
		now := metav1.NewTime(time.Unix(1, 0))
		p.DeletionTimestamp, p.Finalizers = &now, []string{"example.com/keep"}
	}
	if m.once(6) { // it is being resized
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "app-0", AllocatedResources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(oneOf(m, "50m", "2500m"))}},
		}}
		if m.once(2) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: oneOf(m, corev1.PodReasonInfeasible, corev1.PodReasonDeferred)})
		}
	}
	m.pods = append(m.pods, p)
}

// newcomer makes the pod that has no node.
func (m *made) newcomer() {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "new", Namespace: "shop", UID: "uid-new", Labels: map[string]string{"app": oneOf(m, "web", "db"), "version": "2"}}}
	m.pod = p
	m.shape(p, true)
	for range m.IntN(3) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: oneOf(m, "dedicated", "pool", "", corev1.TaintNodeUnschedulable), Operator: oneOf(m, corev1.TolerationOpExists, corev1.TolerationOpEqual), Value: oneOf(m, "", "a"),
			Effect: oneOf(m, "", corev1.TaintEffectNoSchedule),
		})
	}
	if m.once(5) {
		p.Spec.NodeSelector = map[string]string{"disk": oneOf(m, "ssd", "nvme")}
	}
	p.Spec.Affinity = &corev1.Affinity{}
	if m.once(5) {
		m.wantNodes()
	}
	if m.once(4) {
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.affinityTerms(1 + m.IntN(2))}
	}
	if m.once(4) {
		p.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.affinityTerms(1 + m.IntN(2))}
	}
	for range m.IntN(5) / 2 {
		m.wantSpread()
	}
	if m.once(3) {
		m.wantVolume()
	}
}

func (m *made) wantNodes() {
	term := corev1.NodeSelectorTerm{}
	if m.once(3) {
		term.MatchFields = []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{oneOf(m, "node-0", "node-1", "gone")}}}
	} else {
		term.MatchExpressions = []corev1.NodeSelectorRequirement{oneOf(m,
			corev1.NodeSelectorRequirement{Key: "cores", Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}},
			corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}},
			corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpExists},
		)}
	}
	terms := []corev1.NodeSelectorTerm{term}
	if m.once(3) {
		terms = append(terms, corev1.NodeSelectorTerm{})
	}
	m.pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}
}

func (m *made) wantSpread() {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: oneOf[int32](m, 1, 1, 2), TopologyKey: oneOf(m, corev1.LabelTopologyZone, corev1.LabelHostname), LabelSelector: m.selector(),
		WhenUnsatisfiable: oneOf(m, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
	}
	honor, ignore := corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore
	c.NodeAffinityPolicy, c.NodeTaintsPolicy = oneOf(m, nil, &honor, &ignore), oneOf(m, nil, &honor, &ignore)
	if domains := oneOf[int32](m, 0, 0, 2, 4); domains > 0 {
		c.MinDomains = &domains
	}
	if m.once(3) && c.LabelSelector != nil {
		c.MatchLabelKeys = []string{"version"}
	}
	m.pod.Spec.TopologySpreadConstraints = append(m.pod.Spec.TopologySpreadConstraints, c)
}

// wantVolume gives the pod a claim that is bound to a volume.
func (m *made) wantVolume() {
	class := "made"
	claim := corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "shop", UID: "uid-data", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv-data", StorageClassName: &class}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}
	volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-data", Labels: map[string]string{}}, Spec: corev1.PersistentVolumeSpec{
		StorageClassName: class, PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
		ClaimRef: &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data", UID: claim.UID},
	}}
	if m.once(2) {
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{oneOf(m, "node-0", "node-2", "gone")}}},
		}}}}
	}
	if m.once(2) {
		volume.Labels[oneOf(m, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone)] = oneOf(m, "a", "b", "a__b", "a__")
	}
	m.pod.Spec.Volumes = append(m.pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
	m.in.Claims, m.in.Volumes = append(m.in.Claims, claim), append(m.in.Volumes, volume)
	m.objects = append(m.objects, &claim, &volume)
}
