package cluster

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/probes"
)

// trim keeps the parts of a pod that are reported, by which the agent knows pods, and which show that the spec
// changed. The rest, such as environment variables, commands and the annotation in which kubectl repeats them, may
// hold secrets, and is most of the memory that a pod takes.
func trim(p *v1.Pod) *v1.Pod {
	out := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Namespace, Name: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion,
			Generation: p.Generation, CreationTimestamp: p.CreationTimestamp,
			DeletionTimestamp: p.DeletionTimestamp, DeletionGracePeriodSeconds: p.DeletionGracePeriodSeconds,
			Finalizers: slices.Clone(p.Finalizers), Labels: maps.Clone(p.Labels), Annotations: marks(p.Annotations),
		},
		Spec: v1.PodSpec{
			NodeName: p.Spec.NodeName, RestartPolicy: p.Spec.RestartPolicy,
			TerminationGracePeriodSeconds: p.Spec.TerminationGracePeriodSeconds,
			ActiveDeadlineSeconds:         p.Spec.ActiveDeadlineSeconds,
			Priority:                      p.Spec.Priority, PriorityClassName: p.Spec.PriorityClassName,
			Tolerations:    p.Spec.Tolerations,
			InitContainers: containers(p.Spec.InitContainers), Containers: containers(p.Spec.Containers),
		},
		Status: p.Status,
	}
	for _, c := range p.Spec.EphemeralContainers {
		kept := v1.EphemeralContainer{}
		kept.Name, kept.Image = c.Name, c.Image
		out.Spec.EphemeralContainers = append(out.Spec.EphemeralContainers, kept)
	}
	return out
}

func containers(all []v1.Container) []v1.Container {
	out := make([]v1.Container, len(all))
	for i, c := range all {
		out[i] = v1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
	}
	return out
}

func marks(annotations map[string]string) map[string]string {
	var out map[string]string
	for _, k := range []string{probes.AnnotationSource, v1.MirrorPodAnnotationKey, probes.AnnotationHash, probes.AnnotationSeen} {
		if v, ok := annotations[k]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}
