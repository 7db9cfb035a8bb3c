package cluster

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/podstep/podstep/agent/kubeapi"
)

// The steps that are reported, as the catalogue names them.
const (
	stepBound     = "cluster.bound"
	stepChanged   = "cluster.changed"
	stepDeleting  = "cluster.deleting"
	stepGone      = "cluster.gone"
	stepKubelet   = "cluster.kubelet"
	stepPhase     = "reported.phase"
	stepCondition = "reported.condition"
	stepIP        = "reported.ip"
	stepContainer = "reported.container"
	stepEvent     = "reported.event"
)

// source is the way by which an object came. On it depends which time a report gets. The field "from" shows its text.
type source string

const (
	// live: a watch brought the object, as the change happened.
	live source = ""
	// fromObject: the object was there when it was first asked for. Its own times count.
	fromObject source = "object"
	// fromKubelet: the kubelet's list of its pods has it.
	fromKubelet source = "kubelet"
)

// observation is one object as a source gave it.
type observation struct {
	pod  *v1.Pod
	from source
	now  time.Time
}

// report makes a report of the observation. The report has the time that the object states only if the object was
// there before: that time is in whole seconds, and a change that a watch brings has a better one.
func (h *observation) report(step string, stated time.Time, values ...any) Report {
	s := h.reportDated(step, stated, values...)
	if h.from != fromObject {
		s.Values[len(values)] = nil
	}
	return s
}

// reportDated makes a report that always has the time that the object states.
func (h *observation) reportDated(step string, stated time.Time, values ...any) Report {
	at := h.now
	if h.from == fromObject && !stated.IsZero() && stated.Before(at) {
		at = stated
	}
	var since any
	if !stated.IsZero() {
		since = stated
	}
	return Report{Step: step, At: at, Pod: h.pod, Values: append(values, since, some(string(h.from)))}
}

// some returns a text as a value, or nil if it is empty.
func some(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// listed returns a list as a value, or nil if it is empty.
func listed(all []string) any {
	if len(all) == 0 {
		return nil
	}
	return all
}

// words returns a text that others wrote as a value, or nil if it is empty.
func words(s string) any {
	if s == "" {
		return nil
	}
	return Words(s)
}

// wanted reports what the API server newly wants of the pod. old is nil for a pod that was not known.
func (h *observation) wanted(old *v1.Pod) (out []Report) {
	p := h.pod
	if old == nil {
		out = append(out, h.report(stepBound, boundAt(p), p.Spec.NodeName, p.Generation, names(p), restartPolicy(p), probing(p)))
	} else if changed := differences(old, p); len(changed) > 0 {
		out = append(out, h.report(stepChanged, time.Time{}, p.Generation, changed))
	}
	if p.DeletionTimestamp != nil && (old == nil || !old.DeletionTimestamp.Equal(p.DeletionTimestamp) || !slices.Equal(old.Finalizers, p.Finalizers)) {
		grace := int64(0)
		if g := p.DeletionGracePeriodSeconds; g != nil {
			grace = *g
		}
		asked := p.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
		out = append(out, h.report(stepDeleting, asked, grace, p.DeletionTimestamp.Time, listed(p.Finalizers)))
	}
	return out
}

// gone reports that the pod is gone from the API server.
func (h *observation) gone() Report {
	return h.report(stepGone, time.Time{}, some(string(h.pod.Status.Phase)), some(h.pod.Status.Reason))
}

// boundAt returns when the pod was bound to its node. A pod that was created with its node's name needs no scheduler,
// and may lack the condition.
func boundAt(p *v1.Pod) time.Time {
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return p.CreationTimestamp.Time
}

func names(p *v1.Pod) []string {
	var out []string
	for _, c := range p.Spec.InitContainers {
		out = append(out, c.Name)
	}
	for _, c := range p.Spec.Containers {
		out = append(out, c.Name)
	}
	return out
}

// restartPolicy returns when the pod's containers are started again, or nil if that is always.
func restartPolicy(p *v1.Pod) any {
	if p.Spec.RestartPolicy == v1.RestartPolicyAlways {
		return nil
	}
	return some(string(p.Spec.RestartPolicy))
}

// probing returns how long the pod's health probes let it take until it is ready, or nil if it has none.
func probing(p *v1.Pod) any {
	if d := kubeapi.Patience(p); d > 0 {
		return d
	}
	return nil
}

// differences names the parts of a pod's wanted state that differ, of the few that may be changed after a pod was
// made.
func differences(old, p *v1.Pod) (out []string) {
	add := func(same bool, what string) {
		if !same {
			out = append(out, what)
		}
	}
	same := equality.Semantic.DeepEqual
	add(same(old.Labels, p.Labels), "labels")
	add(sameContainers(old, p, func(a, b *v1.Container) bool { return a.Image == b.Image }), "images")
	add(sameContainers(old, p, func(a, b *v1.Container) bool { return same(a.Resources, b.Resources) }), "resources")
	add(same(old.Spec.EphemeralContainers, p.Spec.EphemeralContainers), "ephemeralContainers")
	add(same(old.Spec.Tolerations, p.Spec.Tolerations), "tolerations")
	add(same(old.Spec.ActiveDeadlineSeconds, p.Spec.ActiveDeadlineSeconds), "activeDeadlineSeconds")
	add(same(old.Spec.TerminationGracePeriodSeconds, p.Spec.TerminationGracePeriodSeconds), "terminationGracePeriodSeconds")
	// A deletion raises the generation as well.
	if len(out) == 0 && old.Generation != p.Generation && same(old.DeletionTimestamp, p.DeletionTimestamp) {
		out = append(out, "spec")
	}
	return out
}

func sameContainers(old, p *v1.Pod, same func(a, b *v1.Container) bool) bool {
	equal := func(a, b v1.Container) bool { return same(&a, &b) }
	return slices.EqualFunc(old.Spec.Containers, p.Spec.Containers, equal) &&
		slices.EqualFunc(old.Spec.InitContainers, p.Spec.InitContainers, equal)
}
