//go:build sim

package stuck

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// asking returns a change that makes a pod ask for an amount of a resource.
func asking(name corev1.ResourceName, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		q := resource.MustParse(amount)
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{
			Requests: corev1.ResourceList{name: q}, Limits: corev1.ResourceList{name: q},
		}
	}
}

// blocker creates another pod first, and waits until it runs.
func (e *Env) blocker(change func(*corev1.Pod)) {
	e.T.Helper()
	p := labtest.BusyboxPod("blocker", labtest.Sleep)
	change(p)
	e.Pod(p)
	e.Until("the blocker runs", Running)
}

var otherPods = []corev1.PodAffinityTerm{{
	LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, TopologyKey: corev1.LabelHostname,
}}

func labelled(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} }

func away(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: otherPods}}
}

func TestScheduling(t *testing.T) {
	inLab(t, []Case{
		{Cause: "scheduling.noScheduler", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.SchedulerName = "nobody" })
		}},
		{Cause: "scheduling.gated", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}} })
		}},
		{Cause: "scheduling.tooLarge", Make: func(e *Env) { e.Busybox(labtest.Sleep, asking(corev1.ResourceCPU, "64")) }},
		{Cause: "scheduling.notOffered", Make: func(e *Env) { e.Busybox(labtest.Sleep, asking("example.com/gpu", "1")) }},
		{Cause: "scheduling.nodeAffinity", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
		}},
		{Cause: "scheduling.spread", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{},
				}}
			})
		}},
		{Cause: "scheduling.podAffinity", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: otherPods}}
			})
		}},
		{Cause: "scheduling.podAntiAffinity", Culprit: "pod NS/blocker", Make: func(e *Env) {
			e.blocker(labelled)
			e.Busybox(labtest.Sleep, away)
		}},
		{Cause: "scheduling.existingAntiAffinity", Culprit: "pod NS/blocker", Make: func(e *Env) {
			e.blocker(away)
			e.Busybox(labtest.Sleep, labelled)
		}},
		{Cause: "scheduling.hostPort", Culprit: "pod NS/blocker", Make: func(e *Env) {
			port := func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 18080, HostPort: 18080}}
			}
			e.blocker(port)
			e.Busybox(labtest.Sleep, port)
		}},
		{Cause: "scheduling.nodeMissing", Make: func(e *Env) {
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.NodeName = "no-such-node" })
		}},
	})
}

// claim creates a claim, and a pod that uses it.
func (e *Env) claim(class string, change func(*corev1.PersistentVolumeClaim)) {
	e.T.Helper()
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if change != nil {
		change(c)
	}
	if _, err := e.Client.CoreV1().PersistentVolumeClaims(e.Namespace).Create(e.Context(), c, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	e.Busybox(labtest.Sleep, usingClaim)
}

func usingClaim(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
}

// class creates a storage class of the case's own.
func (e *Env) class(provisioner string, mode storagev1.VolumeBindingMode) string {
	e.T.Helper()
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}, Provisioner: provisioner, VolumeBindingMode: &mode}
	if _, err := e.Client.StorageV1().StorageClasses().Create(e.Context(), c, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() {
		_ = e.Client.StorageV1().StorageClasses().Delete(context.Background(), e.Namespace, metav1.DeleteOptions{})
	})
	return e.Namespace
}

// volume creates a volume for the claim data of the case's namespace.
func (e *Env) volume(class string, source corev1.PersistentVolumeSource, modes []corev1.PersistentVolumeAccessMode, from *corev1.VolumeNodeAffinity) {
	e.T.Helper()
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: modes, StorageClassName: class,
		PersistentVolumeSource: source, NodeAffinity: from, ClaimRef: &corev1.ObjectReference{Namespace: e.Namespace, Name: "data"},
	}}
	if _, err := e.Client.CoreV1().PersistentVolumes().Create(e.Context(), v, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() {
		_ = e.Client.CoreV1().PersistentVolumes().Delete(context.Background(), e.Namespace, metav1.DeleteOptions{})
	})
}

var pathOnNode = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}}

func TestSchedulingClaims(t *testing.T) {
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	oncePod := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	inLab(t, []Case{
		{Cause: "scheduling.claim.missing", Make: func(e *Env) { e.Busybox(labtest.Sleep, usingClaim) }},
		{Cause: "scheduling.claim.deleting", Make: func(e *Env) {
			e.claim("", func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"example.com/kept"} })
			claims := e.Client.CoreV1().PersistentVolumeClaims(e.Namespace)
			if err := claims.Delete(e.Context(), "data", metav1.DeleteOptions{}); err != nil {
				e.T.Fatal(err)
			}
			e.T.Cleanup(func() {
				if c, err := claims.Get(context.Background(), "data", metav1.GetOptions{}); err == nil {
					c.Finalizers = nil
					_, _ = claims.Update(context.Background(), c, metav1.UpdateOptions{})
				}
			})
		}, Meanwhile: []string{"scheduling.claim.noClass"}},
		{Cause: "scheduling.claim.classMissing", Make: func(e *Env) { e.claim("no-such-class", nil) }},
		{Cause: "scheduling.claim.noClass", Make: func(e *Env) { e.claim("", nil) }},
		{Cause: "scheduling.claim.provisioning", Culprit: "driver example.com/disks", Make: func(e *Env) {
			e.claim(e.class("example.com/disks", storagev1.VolumeBindingImmediate), nil)
		}, Meanwhile: []string{"scheduling.claim.unbound"}},
		{Cause: "scheduling.noVolume", Make: func(e *Env) {
			e.claim(e.class("kubernetes.io/no-provisioner", storagev1.VolumeBindingWaitForFirstConsumer), nil)
		}},
		{Cause: "scheduling.volumeNodeAffinity", Make: func(e *Env) {
			e.volume("", pathOnNode, once, &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-2"}}},
			}}}})
			e.claim("", nil)
		}, Meanwhile: []string{"scheduling.claim.noClass"}},
		{Cause: "scheduling.writeOncePod", Culprit: "pod NS/web", Make: func(e *Env) {
			e.volume("", pathOnNode, oncePod, nil)
			e.claim("", func(c *corev1.PersistentVolumeClaim) { c.Spec.AccessModes = oncePod })
			e.Until("the first pod has a node", func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
			second := labtest.BusyboxPod("second", labtest.Sleep)
			usingClaim(second)
			e.Pod(second)
		}},
	})
}

// devices makes the pod claim a device of a class.
func (e *Env) devices(class string) {
	e.T.Helper()
	e.deviceClaim("gpu", class)
	e.Busybox(labtest.Sleep, usingDevice)
}

// deviceClaim makes a claim for a device of a class.
func (e *Env) deviceClaim(name, class string) {
	e.T.Helper()
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
		Requests: []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}},
	}}}
	if _, err := e.Client.ResourceV1().ResourceClaims(e.Namespace).Create(e.Context(), c, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

func usingDevice(p *corev1.Pod) { usingDevices(p, "gpu") }

// usingDevices makes a pod use the devices of a claim.
func usingDevices(p *corev1.Pod, name string) {
	p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}
	p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
}

func TestSchedulingDevices(t *testing.T) {
	inLab(t, []Case{
		{Cause: "scheduling.claimNotMade", Make: func(e *Env) { e.Busybox(labtest.Sleep, usingDevice) }},
		{Cause: "sandbox.claimUnread", Make: func(e *Env) { // a pod that was never scheduled
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) { usingDevice(p); p.Spec.NodeName = "node-1" })
		}},
		{Cause: "scheduling.deviceClassMissing", Make: func(e *Env) { e.devices("no-such-class") }},
		{Cause: "scheduling.devices", Make: func(e *Env) {
			class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: e.Namespace}}
			if _, err := e.Client.ResourceV1().DeviceClasses().Create(e.Context(), class, metav1.CreateOptions{}); err != nil {
				e.T.Fatal(err)
			}
			e.T.Cleanup(func() {
				_ = e.Client.ResourceV1().DeviceClasses().Delete(context.Background(), e.Namespace, metav1.DeleteOptions{})
			})
			e.devices(e.Namespace)
		}},
	})
}

// node creates a node without a kubelet. The scheduler takes it for healthy. This changes what the scheduler says
// about the pods of all other cases, so only a case that is alone on its lab may create one.
func (e *Env) node(name string, change func(*corev1.Node)) {
	e.T.Helper()
	if !e.alone {
		e.T.Fatal("this case shares its lab, and may not add a node to it")
	}
	all := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"pool": "big"}}, Status: corev1.NodeStatus{
		Capacity: all, Allocatable: all, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()}},
	}}
	change(n)
	if _, err := e.Client.CoreV1().Nodes().Create(e.Context(), n, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

// priorityClass creates a priority class, and waits until the API server admits pods of it. The server's admission knows
// a class only once its own watch has brought it.
func (e *Env) priorityClass(name string, value int32) {
	e.T.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	if _, err := e.Client.SchedulingV1().PriorityClasses().Create(e.Context(), class, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
	labtest.Eventually(e.T, "a pod of priority class "+name+" is admitted", func() bool {
		p := labtest.BusyboxPod("admitted", labtest.Sleep)
		p.Namespace, p.Spec.PriorityClassName = e.Namespace, name
		_, err := e.Client.CoreV1().Pods(e.Namespace).Create(e.Context(), p, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && !apierrors.IsForbidden(err) {
			e.T.Fatal(err)
		}
		return err == nil
	})
}

func inPool(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "big"} }

func TestSchedulingAlone(t *testing.T) {
	alone(t, []Case{
		{Cause: "scheduling.insufficient", Culprit: "pod NS/blocker", Make: func(e *Env) {
			e.blocker(asking(corev1.ResourceCPU, "3"))
			e.Busybox(labtest.Sleep, asking(corev1.ResourceCPU, "2"))
		}},
		{Cause: "scheduling.tooManyPods", Make: func(e *Env) {
			for _, name := range []string{"full-1", "full-2"} {
				e.node(name, func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("0") })
			}
			e.Busybox(labtest.Sleep, inPool)
		}, Meanwhile: []string{"scheduling.taint", "scheduling.nodesIll", "scheduling.taintUnnamed"}},
		{Cause: "scheduling.cordoned", Make: func(e *Env) {
			for _, name := range []string{"closed-1", "closed-2"} {
				e.node(name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
			}
			e.Busybox(labtest.Sleep, inPool)
		}},
		{Cause: "scheduling.taint", Make: func(e *Env) {
			for _, name := range []string{"gpu-1", "gpu-2"} {
				e.node(name, func(n *corev1.Node) {
					n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule}}
				})
			}
			e.Busybox(labtest.Sleep, inPool)
		}},
		{Cause: "scheduling.nodesIll", Make: func(e *Env) {
			for _, name := range []string{"ill-1", "ill-2"} {
				e.node(name, func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse })
			}
			e.Busybox(labtest.Sleep, inPool)
		}},
		{Cause: "scheduling.preempting", Make: func(e *Env) {
			e.blocker(func(p *corev1.Pod) {
				asking(corev1.ResourceCPU, "3")(p)
				grace := int64(90)
				p.Spec.TerminationGracePeriodSeconds = &grace
				p.Annotations = map[string]string{"sim.podstep.dev/term": "ignore"}
			})
			e.priorityClass("urgent", 1000)
			e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
				asking(corev1.ResourceCPU, "3")(p)
				p.Spec.PriorityClassName = "urgent"
			})
		}, Meanwhile: []string{"scheduling.insufficient"}},
	})
}
