package causes

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// objectsChecks are the checks of table/objects.yaml: of what is no pod and owns none.
var objectsChecks = []check{namespaceStays, claimWaits, claimStays, serviceLacks}

// objectPhases are the phases of a case about an object, by the object's kind.
var objectPhases = map[string]Phase{
	evidence.KindNode: OnNode, evidence.KindNamespace: OnNamespace, evidence.KindClaim: OnClaim, evidence.KindService: OnService,
}

// ofObject makes the case one of an object that is no pod and owns none.
func (c *Case) ofObject(p Phase) {
	c.Phase, c.Since = p, c.Now
	c.args = Args{"namespace": c.Name.Namespace}
	switch p {
	case OnNode:
		c.args["node"] = c.Name.Name
		if k := c.nodeReady(); k != nil {
			c.Since = k.Since
		} else if c.Cluster.Node != nil {
			c.Since = c.Cluster.Node.CreationTimestamp.Time
		}
	case OnNamespace:
		c.args["namespace"] = c.Name.Name
		if n := c.Cluster.Namespace; n != nil {
			c.Since = latest(n.CreationTimestamp.Time, timeOf(n.DeletionTimestamp))
		}
	case OnClaim:
		c.args["claim"] = c.Name.Name
		if k := c.ownClaim(); k != nil {
			c.Since = latest(k.CreationTimestamp.Time, timeOf(k.DeletionTimestamp))
		}
	case OnService:
		c.args["service"] = c.Name.Name
		if v := c.Cluster.Service; v != nil {
			c.Since = v.CreationTimestamp.Time
		}
	}
}

// timeOf returns a time of an object; zero: the object has none.
func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// ownClaim returns the claim that the case is about; nil: it is not known.
func (c *Case) ownClaim() *corev1.PersistentVolumeClaim {
	if i := slices.IndexFunc(c.Cluster.Claims, func(k corev1.PersistentVolumeClaim) bool { return k.Name == c.Name.Name }); i >= 0 && c.Phase == OnClaim {
		return &c.Cluster.Claims[i]
	}
	return nil
}

// stateOfObject is stateOf for an object: it waits for what it lacks, or until it is deleted.
func (c *Case) stateOfObject() (life.State, time.Time) {
	ready := true
	switch c.Phase {
	case OnNode:
		return c.stateOfNode()
	case OnNamespace:
		ready = c.Cluster.Namespace == nil || c.Cluster.Namespace.DeletionTimestamp == nil
	case OnClaim:
		k := c.ownClaim()
		ready = k == nil || k.DeletionTimestamp == nil && (k.Status.Phase == corev1.ClaimBound || len(c.Cluster.Pods) == 0 && k.Status.Phase == corev1.ClaimPending && c.bindsLate(k))
	case OnService:
		e := c.Cluster.Endpoints
		ready = e == nil || e.Ready > 0 || c.Cluster.Service.Spec.Type == corev1.ServiceTypeExternalName
	}
	if ready {
		return life.Idle, c.Since
	}
	return c.onWay(c.Since, life.StuckAfter)
}

// namespaceStays finds what keeps a namespace that is being deleted, as the conditions of the namespace say it.
func namespaceStays(c *Case) (out []Finding) {
	n := c.Cluster.Namespace
	if c.Phase != OnNamespace || n == nil || n.DeletionTimestamp == nil {
		return nil
	}
	ids := map[corev1.NamespaceConditionType]string{
		corev1.NamespaceDeletionDiscoveryFailure: "namespace.discoveryFails", corev1.NamespaceDeletionGVParsingFailure: "namespace.discoveryFails",
		corev1.NamespaceDeletionContentFailure: "namespace.deletionFails", corev1.NamespaceContentRemaining: "namespace.contentRemains",
		corev1.NamespaceFinalizersRemaining: "namespace.finalizersRemain",
	}
	for _, k := range n.Status.Conditions {
		if id := ids[k.Type]; id != "" && k.Status == corev1.ConditionTrue {
			out = append(out, c.found(id, "", Args{"message": k.Message}, Certain, c.Since, c.object(words.Same("condition "+string(k.Type)), words.Same(k.Message), k.LastTransitionTime.Time)))
		}
	}
	own := slices.DeleteFunc(finalizersOf(n), func(f string) bool { return f == string(corev1.FinalizerKubernetes) })
	if len(own) > 0 {
		names := strings.Join(own, ", ")
		out = append(out, c.found("namespace.ownFinalizers", "", Args{"finalizers": names}, Certain, c.Since, c.object(words.Text("finalizers", "finalizer"), words.Same(names), c.Now)))
	}
	return out
}

// finalizersOf returns the finalizers of a namespace, which has them in two places.
func finalizersOf(n *corev1.Namespace) (out []string) {
	for _, f := range n.Spec.Finalizers {
		out = append(out, string(f))
	}
	return append(out, n.Finalizers...)
}

// claimWaits finds why a claim has no volume.
func claimWaits(c *Case) []Finding {
	k := c.ownClaim()
	if k == nil || k.DeletionTimestamp != nil {
		return nil
	}
	where := words.Same("persistentvolumeclaims/" + k.Name)
	switch {
	case k.Status.Phase == corev1.ClaimLost:
		return []Finding{c.lostClaim(k)}
	case k.Status.Phase != corev1.ClaimPending:
		return nil
	case c.bindsLate(k) && len(c.Cluster.Pods) == 0:
		return []Finding{c.found("claim.waitsForPod", "", Args{"class": *k.Spec.StorageClassName}, Certain, c.Since, c.object(where, words.Text("phase Pending, and no pod uses it", "phase Pending，没有 Pod 使用它"), c.Now))}
	}
	if f, ok := c.unbound(k); ok {
		return []Finding{f}
	}
	return nil
}

// bindsLate reports whether a claim gets its volume only when a pod that uses the claim is scheduled.
func (c *Case) bindsLate(k *corev1.PersistentVolumeClaim) bool {
	if k.Spec.StorageClassName == nil {
		return false
	}
	for i := range c.Cluster.Classes {
		if s := &c.Cluster.Classes[i]; s.Name == *k.Spec.StorageClassName {
			return s.VolumeBindingMode != nil && *s.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
		}
	}
	return false
}

// maxNames bounds the names in a sentence.
const maxNames = 5

// claimStays finds what keeps a claim that is being deleted.
func claimStays(c *Case) []Finding {
	k := c.ownClaim()
	if k == nil || k.DeletionTimestamp == nil {
		return nil
	}
	names := []string{}
	for _, p := range c.Cluster.Pods {
		names = append(names, p.Name)
	}
	shown := c.object(words.Same("metadata.finalizers"), words.Same(strings.Join(k.Finalizers, ", ")), c.Now)
	if len(names) > 0 && slices.Contains(k.Finalizers, protection) {
		args := Args{"pods": strings.Join(names[:min(len(names), maxNames)], ", "), "count": strconv.Itoa(len(names)), "user": names[0]}
		return []Finding{c.found("claim.inUse", "", args, Certain, c.Since, shown)}
	}
	if len(k.Finalizers) > 0 {
		return []Finding{c.found("claim.finalizers", "", Args{"finalizers": strings.Join(k.Finalizers, ", ")}, Certain, c.Since, shown)}
	}
	return nil
}

// serviceLacks finds why a service has no endpoint that is ready.
func serviceLacks(c *Case) []Finding {
	v, e := c.Cluster.Service, c.Cluster.Endpoints
	if c.Phase != OnService || v == nil || v.Spec.Type == corev1.ServiceTypeExternalName || e == nil || e.Ready > 0 {
		return nil
	}
	shown := c.object(words.With(words.Text("endpointslices of service %s", "服务 %s 的 endpointslice"), v.Name), words.With(words.Text("%d ready, %d not ready", "%d 个就绪，%d 个未就绪"), e.Ready, e.NotReady), c.Now)
	ready := 0
	for _, p := range c.Cluster.Pods {
		if p.Ready && !p.Gone {
			ready++
		}
	}
	args := Args{"selector": labels.SelectorFromSet(v.Spec.Selector).String(), "pods": strconv.Itoa(len(c.Cluster.Pods)), "ready": strconv.Itoa(ready)}
	id := "service.notWritten"
	switch port := missingPort(v, c.Cluster.Pods); {
	case len(v.Spec.Selector) == 0:
		id = "service.noSelector"
	case !c.sawPods():
		return nil // nothing is known of its pods
	case len(c.Cluster.Pods) == 0:
		id = "service.noPods"
	case ready == 0:
		id = "service.noneReady"
	case port != "":
		id, args["port"] = "service.portMissing", port
	}
	return []Finding{c.found(id, "", args, Certain, c.Since, shown)}
}

// sawPods reports whether the pods of the object could be listed.
func (c *Case) sawPods() bool {
	_, ok := c.Origin(evidence.API, "pods of "+c.Name.String())
	return ok
}

// missingPort returns a target port that the service names and that no container of its pods has; empty: there is none.
func missingPort(v *corev1.Service, pods []evidence.Brief) string {
	for _, p := range v.Spec.Ports {
		name := p.TargetPort.StrVal
		if p.TargetPort.Type == intstr.String && !slices.ContainsFunc(pods, func(b evidence.Brief) bool { return slices.Contains(b.Ports, name) }) {
			return name
		}
	}
	return ""
}
