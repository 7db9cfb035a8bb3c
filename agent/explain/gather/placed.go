package gather

import (
	"context"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/filters"
	"github.com/podstep/podstep/agent/kubeapi"
)

const (
	// maxPlaced bounds how many pods that have a node are kept.
	maxPlaced = 5000
	// ofNodes names these pods.
	ofNodes = "pods of all nodes"
)

// placedPods are the pods that have a node. They are asked for once.
type placedPods struct {
	once   single
	placed *evidence.Placed
	err    error
}

// placed asks for the pods that have a node, if a scheduler refuses to give one to this pod, or clears one for it.
func (a *ask) placed(p *corev1.Pod) {
	if !isRefused(p) {
		return
	}
	all := &a.memo.placed
	all.once.do(func() { all.placed, all.err = readPlaced(a.ctx, a.memo.api) })
	a.put(func(s *evidence.Snapshot) {
		s.Cluster.Placed = all.placed
		if all.err == nil {
			s.Saw(evidence.API, ofNodes, time.Now())
			return
		}
		code, message := WhyNot(all.err)
		s.Missed(evidence.API, ofNodes, code, message)
	})
	if all.placed != nil && filters.SelectsNamespaces(p, all.placed.Pods) {
		a.namespaceLabels()
	}
}

// namespaceLabels asks for the labels of all namespaces.
func (a *ask) namespaceLabels() {
	items, ok := all[metav1.PartialObjectMetadata](a, "api/v1/namespaces", nil, "namespaces")
	if !ok {
		return
	}
	out := map[string]labels.Set{}
	for i := range items {
		out[items[i].Name] = items[i].Labels
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.NamespaceLabels = out })
}

// isRefused reports whether a scheduler has looked at a pod, and has not bound it.
func isRefused(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && (p.Status.NominatedNodeName != "" || slices.ContainsFunc(p.Status.Conditions, func(k corev1.PodCondition) bool {
		return k.Type == corev1.PodScheduled && k.Status == corev1.ConditionFalse && k.Reason == corev1.PodReasonUnschedulable
	}))
}

// readPlaced reads the pods that have a node and have not ended. If some cannot be read, it returns the others, with the
// error.
func readPlaced(ctx context.Context, api *kubeapi.Client) (*evidence.Placed, error) {
	out := &evidence.Placed{}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	query := url.Values{"fieldSelector": {"spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}}
	_, err := kubeapi.List(reading, api, "api/v1/pods", query, func(p *corev1.Pod) {
		if addPlaced(out, p); out.Partial {
			stop()
		}
	})
	switch {
	case out.Partial:
		err = nil
	case err != nil && len(out.Pods) == 0:
		return nil, err
	case err != nil:
		out.Partial = true
	}
	return out, err
}

// addPlaced adds a pod if it has a node and has not ended.
func addPlaced(to *evidence.Placed, p *corev1.Pod) {
	switch {
	case p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
	case len(to.Pods) == maxPlaced:
		to.Partial = true
	default:
		to.Pods = append(to.Pods, *placedOf(p))
	}
}

// placedOf returns the part of a pod with a node that a scheduler asks for.
func placedOf(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID, Labels: p.Labels, DeletionTimestamp: p.DeletionTimestamp},
		Spec: corev1.PodSpec{
			NodeName: p.Spec.NodeName, Priority: p.Spec.Priority, Overhead: p.Spec.Overhead,
			InitContainers: containersPlaced(p.Spec.InitContainers), Containers: containersPlaced(p.Spec.Containers),
		},
	}
	if r := p.Spec.Resources; r != nil {
		out.Spec.Resources = &corev1.ResourceRequirements{Requests: r.Requests}
	}
	if a := p.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		out.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}}
	}
	for _, k := range p.Status.Conditions {
		if k.Type == corev1.PodResizePending || k.Type == corev1.DisruptionTarget {
			out.Status.Conditions = append(out.Status.Conditions, corev1.PodCondition{Type: k.Type, Status: k.Status, Reason: k.Reason, LastTransitionTime: k.LastTransitionTime})
		}
	}
	if !equality.Semantic.DeepEqual(filters.Taken(p), filters.Asked(p)) { // it is being resized
		out.Status.ContainerStatuses, out.Status.InitContainerStatuses = statusesPlaced(p.Status.ContainerStatuses), statusesPlaced(p.Status.InitContainerStatuses)
		out.Status.Resources, out.Status.AllocatedResources = p.Status.Resources, p.Status.AllocatedResources
	}
	return shownPart(out)
}

func containersPlaced(all []corev1.Container) (out []corev1.Container) {
	for _, c := range all {
		k := corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, Resources: corev1.ResourceRequirements{Requests: c.Resources.Requests}}
		k.Ports = slices.DeleteFunc(slices.Clone(c.Ports), func(p corev1.ContainerPort) bool { return p.HostPort <= 0 })
		out = append(out, k)
	}
	return out
}

func statusesPlaced(all []corev1.ContainerStatus) (out []corev1.ContainerStatus) {
	for _, s := range all {
		out = append(out, corev1.ContainerStatus{Name: s.Name, AllocatedResources: s.AllocatedResources, Resources: s.Resources})
	}
	return out
}
