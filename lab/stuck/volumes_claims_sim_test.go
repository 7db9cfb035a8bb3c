//go:build sim

package stuck

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/labtest"
)

// claim returns a volume of a claim.
func claim(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// straight makes a pod that mounts a claim. The pod is bound to the node from the start, so that the scheduler does
// not wait for the claim.
func (e *Env) straight(name string, change ...func(*corev1.Pod)) {
	e.T.Helper()
	e.Busybox(labtest.Sleep, func(p *corev1.Pod) {
		mounting(claim(name))(p)
		p.Spec.NodeName = "node-1"
		for _, c := range change {
			c(p)
		}
	})
}

// makeClaim makes a claim on a volume or, without a volume, on any volume of a class.
func (e *Env) makeClaim(name, volume string, change func(*corev1.PersistentVolumeClaim)) {
	e.T.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	c.Spec.StorageClassName, c.Spec.VolumeName = new(""), volume
	if change != nil {
		change(c)
	}
	if _, err := e.Client.CoreV1().PersistentVolumeClaims(e.Namespace).Create(e.Context(), c, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

// makeVolume makes a volume for a claim. It goes with the case.
func (e *Env) makeVolume(name, claim string, source corev1.PersistentVolumeSource, change func(*corev1.PersistentVolume)) {
	e.T.Helper()
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	v.Spec.PersistentVolumeSource = source
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: e.Namespace, Name: claim}
	if change != nil {
		change(v)
	}
	if _, err := e.Client.CoreV1().PersistentVolumes().Create(e.Context(), v, metav1.CreateOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

func (e *Env) untilBound(name string) {
	e.T.Helper()
	labtest.Eventually(e.T, "claim is bound", func() bool {
		c, err := e.Client.CoreV1().PersistentVolumeClaims(e.Namespace).Get(e.Context(), name, metav1.GetOptions{})
		return err == nil && c.Status.Phase == corev1.ClaimBound
	})
}

func hostPath() corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp"}}
}

func csi(driver, handle string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}}
}

func TestClaims(t *testing.T) {
	inLab(t, []Case{
		{Cause: "volumes.claimMissing", Make: func(e *Env) { e.straight("data") }},
		{Cause: "volumes.claimPending", Make: func(e *Env) {
			e.makeClaim("data", "", nil)
			e.straight("data")
		}},
		{Cause: "volumes.claimLost", Meanwhile: []string{"volumes.claimPending", "volumes.volumeMissing"}, Make: func(e *Env) {
			e.makeVolume("why-lost", "data", hostPath(), nil)
			e.makeClaim("data", "why-lost", nil)
			e.untilBound("data")
			e.dropVolume("why-lost")
			e.straight("data")
		}},
		{Cause: "volumes.claimDeleting", Make: func(e *Env) {
			e.makeClaim("data", "", func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"example.com/keep"} })
			claims := e.Client.CoreV1().PersistentVolumeClaims(e.Namespace)
			e.T.Cleanup(func() {
				_, _ = claims.Patch(e.T.Context(), "data", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			})
			if err := claims.Delete(e.Context(), "data", metav1.DeleteOptions{}); err != nil {
				e.T.Fatal(err)
			}
			labtest.Eventually(e.T, "claim is not protected", func() bool {
				c, err := claims.Get(e.Context(), "data", metav1.GetOptions{})
				return err == nil && !slices.Contains(c.Finalizers, "kubernetes.io/pvc-protection")
			})
			e.straight("data")
		}},
		{Cause: "volumes.modeWrong", Make: func(e *Env) {
			block := corev1.PersistentVolumeBlock
			e.makeVolume("why-block", "data", csi("block.csi.example.com", "block"), func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = &block })
			e.makeClaim("data", "why-block", func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block })
			e.untilBound("data")
			e.straight("data")
		}},
		{Cause: "volumes.nodeAffinity", Meanwhile: []string{"volumes.setUp"}, Make: func(e *Env) {
			e.makeVolume("why-elsewhere", "data", hostPath(), func(v *corev1.PersistentVolume) {
				v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-9"}}},
				}}}}
			})
			e.makeClaim("data", "why-elsewhere", nil)
			e.untilBound("data")
			e.straight("data")
		}},
	})
}

// dropVolume takes a volume away, with its protection.
func (e *Env) dropVolume(name string) {
	e.T.Helper()
	volumes := e.Client.CoreV1().PersistentVolumes()
	if err := volumes.Delete(e.Context(), name, metav1.DeleteOptions{}); err != nil {
		e.T.Fatal(err)
	}
	if _, err := volumes.Patch(e.Context(), name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		e.T.Fatal(err)
	}
}

// TestAttach: a CSI driver's volume is attached. The test is the driver's attacher.
func TestAttach(t *testing.T) {
	inLab(t, []Case{
		{Cause: "volumes.attachPending", Culprit: "driver pending.csi.example.com", Make: func(e *Env) {
			e.csiClaim("pending", "node-1")
			e.straight("data")
		}},
		{Cause: "volumes.attachFailed", Make: func(e *Env) {
			e.csiClaim("failing", "node-1")
			e.straight("data")
			e.answerAttach("why-failing", "node-1", storagev1.VolumeAttachmentStatus{AttachError: &storagev1.VolumeError{
				Time: metav1.Now(), Message: "rpc error: code = NotFound desc = disk d-1 does not exist",
			}})
		}},
		// The API server's CSINode shows it at once. The kubelet itself shows it only when the volume is attached.
		{Cause: "volumes.driverMissing", Culprit: "driver undriven.csi.example.com", Make: func(e *Env) {
			e.csiClaim("undriven", "")
			e.straight("data")
			e.answerAttach("why-undriven", "node-1", storagev1.VolumeAttachmentStatus{Attached: true})
		}},
	})
}

// TestAttachAlone: a volume is attached to another node.
func TestAttachAlone(t *testing.T) {
	alone(t, []Case{{Cause: "volumes.multiAttach", Culprit: "pod NS/holder", Make: func(e *Env) {
		e.csiClaim("shared", "node-1")
		e.node("node-2", func(n *corev1.Node) {
			n.Annotations = map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
		})
		e.straight("data", func(p *corev1.Pod) { p.Name, p.Spec.NodeName = "holder", "node-2" })
		e.answerAttach("why-shared", "node-2", storagev1.VolumeAttachmentStatus{Attached: true})
		e.straight("data")
	}}})
}

// csiClaim makes a claim with a volume of a CSI driver, both with one name. At the API server, the driver is
// registered on a node.
func (e *Env) csiClaim(name, node string) {
	e.T.Helper()
	driver := name + ".csi.example.com"
	e.makeVolume("why-"+name, "data", csi(driver, name), nil)
	e.makeClaim("data", "why-"+name, nil)
	e.untilBound("data")
	if node == "" {
		return
	}
	labtest.Eventually(e.T, "CSINode names the driver", func() bool {
		n, err := e.Client.StorageV1().CSINodes().Get(e.Context(), node, metav1.GetOptions{})
		if err != nil {
			return false
		}
		n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: node})
		_, err = e.Client.StorageV1().CSINodes().Update(e.Context(), n, metav1.UpdateOptions{})
		return err == nil
	})
}

// answerAttach answers as a driver's attacher does.
func (e *Env) answerAttach(volume, node string, status storagev1.VolumeAttachmentStatus) {
	e.T.Helper()
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		e.T.Fatal(err)
	}
	labtest.Eventually(e.T, "VolumeAttachment of "+volume, func() bool {
		all, err := e.Client.StorageV1().VolumeAttachments().List(e.Context(), metav1.ListOptions{})
		for i := range all.Items {
			a := &all.Items[i]
			if err == nil && a.Spec.NodeName == node && *a.Spec.Source.PersistentVolumeName == volume {
				_, err = e.Client.StorageV1().VolumeAttachments().Patch(e.Context(), a.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
				return err == nil
			}
		}
		return false
	})
}
