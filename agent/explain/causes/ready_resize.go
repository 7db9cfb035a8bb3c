package causes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// openResize is how long a resize may take that neither waits nor fails.
const openResize = 30 * time.Second

// resizeWithoutEffect finds a resize that the kubelet has allocated and no longer works on, while the container still has
// what it had before.
func resizeWithoutEffect(c *Case) []Finding {
	if c.Pod == nil || c.Phase == Ended || c.Phase == Refused || c.Phase == Terminating || c.Pod.Status.ObservedGeneration < c.Pod.Generation {
		return nil
	}
	for _, t := range []corev1.PodConditionType{corev1.PodResizePending, corev1.PodResizeInProgress} {
		if condition(c.Pod, t) != nil {
			return nil
		}
	}
	at := evidence.ResizedAt(c.Pod)
	if at.IsZero() || c.Now.Sub(at) < openResize {
		return nil
	}
	var out []Finding
	for i := range c.Pod.Spec.Containers {
		name := c.Pod.Spec.Containers[i].Name
		st := statusNamed(c.Pod.Status.ContainerStatuses, name)
		if st == nil || st.Resources == nil || st.State.Running == nil {
			continue
		}
		want, has := c.Pod.Spec.Containers[i].Resources.Requests.Cpu(), st.Resources.Requests.Cpu()
		if !cpuDiffers(want, st.AllocatedResources.Cpu(), has) {
			continue
		}
		out = append(out, c.found("ready.resizeWithoutEffect", name, Args{"container": name, "want": want.String(), "has": has.String()}, Likely, at,
			c.status(words.Same("containers["+name+"].resources.requests.cpu"), words.Same(has.String()), c.Now),
			c.status(words.Same("containers["+name+"].allocatedResources.cpu"), words.Same(want.String()), at)))
	}
	return out
}

func statusNamed(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// cpuDiffers reports whether a container has another CPU request than the one that is wanted and allocated. The runtime
// rounds the request to shares of a thousandth and gives no container less than two of them. Only of CPU does every
// runtime report what a container has.
func cpuDiffers(wanted, allocated, has *resource.Quantity) bool {
	if wanted.IsZero() || has.IsZero() || wanted.Cmp(*allocated) != 0 || wanted.MilliValue() <= 2 {
		return false
	}
	apart := wanted.MilliValue() - has.MilliValue()
	return apart > 1 || apart < -1
}
