package gather

import (
	"cmp"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// maxOwners bounds how many owners upward from a pod are asked for.
const maxOwners = 4

// owners asks for the pod's controller, for the controller's own, and so on, and for the events
// of each: they say what keeps pods from being made.
func (a *ask) owners(p *corev1.Pod) {
	refs := p.OwnerReferences
	for range maxOwners {
		ref := metav1.GetControllerOfNoCopy(&metav1.ObjectMeta{OwnerReferences: refs})
		if ref == nil {
			return
		}
		if resourceOf(ref.Kind) == "" {
			return
		}
		var o evidence.Owner
		together(
			func() { o, refs, _ = a.owner(ref.APIVersion, ref.Kind, ref.Name) },
			func() { a.eventsOf(ref.Kind, ref.Name) },
		)
		a.put(func(s *evidence.Snapshot) { s.Cluster.Owners = append(s.Cluster.Owners, o) })
	}
}

// plurals are the resources of known kinds of owners. The resource of another kind is guessed:
// most are the kind in lower case with an s.
var plurals = map[string]string{"DaemonSet": "daemonsets", "Node": ""}

func resourceOf(kind string) string {
	if r, ok := plurals[kind]; ok {
		return r
	}
	return strings.ToLower(kind) + "s"
}

// owner asks for an object that owns pods, and returns it with its own owners. ok is false if
// none above it is worth asking, as for the node of a mirror pod.
func (a *ask) owner(version, kind, name string) (o evidence.Owner, above []metav1.OwnerReference, ok bool) {
	resource := resourceOf(kind)
	if resource == "" {
		return o, nil, false
	}
	prefix := "apis/" + version
	if !strings.Contains(version, "/") {
		prefix = "api/" + version
	}
	o = evidence.Owner{APIVersion: version, Kind: kind, Name: name, Wanted: -1, Made: -1, Ready: -1}
	var raw json.RawMessage
	if !a.get(prefix+"/namespaces/"+a.s.Name.Namespace+"/"+resource+"/"+name, nil, resource+"/"+name, &raw) {
		o.Missing = a.isMissing(resource + "/" + name)
		return o, nil, true
	}
	var head ownerHead
	if err := json.Unmarshal(raw, &head); err != nil {
		a.put(func(s *evidence.Snapshot) {
			s.Missed(evidence.API, resource+"/"+name, evidence.Failed, message("its object cannot be read: "+err.Error()))
		})
		return o, nil, true
	}
	return head.into(o), head.Metadata.OwnerReferences, true
}

func (a *ask) isMissing(what string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.s.Cluster.Missing {
		if m == what {
			return true
		}
	}
	return false
}

// ownerHead is the part of an owner of any kind that is read.
type ownerHead struct {
	Metadata struct {
		UID               string
		Generation        int64
		CreationTimestamp metav1.Time
		DeletionTimestamp *metav1.Time
		OwnerReferences   []metav1.OwnerReference
		ManagedFields     []struct {
			Manager     string
			Time        *metav1.Time
			Subresource string
		}
	}
	Spec struct {
		Replicas    *int32
		Completions *int32
		Paused      bool
		Suspend     *bool
		// A Deployment has a strategy, a StatefulSet and a DaemonSet have an updateStrategy.
		Strategy, UpdateStrategy struct {
			Type          string
			RollingUpdate *struct{ MaxUnavailable *intstr.IntOrString }
		}
		PodManagementPolicy string
		ConcurrencyPolicy   string
		// A CronJob has a schedule.
		Schedule                string
		TimeZone                *string
		StartingDeadlineSeconds *int64
		Template                struct {
			Spec struct {
				InitContainers, Containers []struct{ Name string }
			}
		}
	}
	Status struct {
		Replicas, ReadyReplicas                                     *int32
		DesiredNumberScheduled, CurrentNumberScheduled, NumberReady *int32
		Ready, Succeeded, Failed                                    *int32
		// Active is a number in a Job, and a list of Jobs in a CronJob.
		Active                                  json.RawMessage
		ObservedGeneration                      int64
		UpdateRevision                          string
		UpdatedReplicas, UpdatedNumberScheduled *int32
		LastScheduleTime                        *metav1.Time
		Conditions                              []struct {
			Type, Status, Reason, Message string
			LastTransitionTime            metav1.Time
		}
	}
}

// rollout reads how an owner replaces its pods, or makes its Jobs.
func (h *ownerHead) rollout(o *evidence.Owner) {
	for _, s := range []struct {
		Type          string
		RollingUpdate *struct{ MaxUnavailable *intstr.IntOrString }
	}{h.Spec.Strategy, h.Spec.UpdateStrategy} {
		o.Strategy = cmp.Or(o.Strategy, s.Type)
		if s.RollingUpdate != nil && s.RollingUpdate.MaxUnavailable != nil {
			o.MaxUnavailable = s.RollingUpdate.MaxUnavailable.String()
		}
	}
	o.Ordered = o.Kind == "StatefulSet" && h.Spec.PodManagementPolicy != "Parallel"
	o.Revision, o.Updated, o.Concurrency = h.Status.UpdateRevision, -1, h.Spec.ConcurrencyPolicy
	if h.Status.ObservedGeneration > 0 && o.Strategy != "" {
		o.Updated = 0 // the API server leaves a zero out
	}
	for _, n := range []*int32{h.Status.UpdatedReplicas, h.Status.UpdatedNumberScheduled} {
		if n != nil {
			o.Updated = *n
		}
	}
	o.Schedule, o.Within = h.Spec.Schedule, h.Spec.StartingDeadlineSeconds
	if h.Spec.TimeZone != nil {
		o.TimeZone = *h.Spec.TimeZone
	}
	if t := h.Status.LastScheduleTime; t != nil {
		o.LastScheduled = t.Time
	}
	var running []struct{ Name string }
	if json.Unmarshal(h.Status.Active, &running) == nil {
		for _, r := range running {
			o.Running = append(o.Running, r.Name)
		}
	}
}

func (h *ownerHead) into(o evidence.Owner) evidence.Owner {
	o.UID, o.Deleting, o.Paused = h.Metadata.UID, h.Metadata.DeletionTimestamp != nil, h.Spec.Paused
	o.Suspended = h.Spec.Suspend != nil && *h.Spec.Suspend
	set := func(into *int32, from ...*int32) {
		for _, f := range from {
			if f != nil {
				*into = *f
				return
			}
		}
	}
	for _, c := range append(h.Spec.Template.Spec.InitContainers, h.Spec.Template.Spec.Containers...) {
		o.Containers = append(o.Containers, c.Name)
	}
	h.rollout(&o)
	set(&o.Wanted, h.Spec.Replicas, h.Status.DesiredNumberScheduled, h.Spec.Completions)
	var active *int32
	if json.Unmarshal(h.Status.Active, &active) != nil {
		active = nil
	}
	set(&o.Made, h.Status.Replicas, h.Status.CurrentNumberScheduled, active)
	set(&o.Ended, h.Status.Succeeded)
	set(&o.Failed, h.Status.Failed)
	o.Generation, o.Observed, o.Created = h.Metadata.Generation, h.Status.ObservedGeneration, h.Metadata.CreationTimestamp.Time
	for _, f := range h.Metadata.ManagedFields {
		if f.Subresource == "" && f.Time != nil && f.Time.After(o.Changed) {
			o.Changed, o.ChangedBy = f.Time.Time, message(f.Manager)
		}
	}
	set(&o.Ready, h.Status.ReadyReplicas, h.Status.NumberReady, h.Status.Ready)
	for _, c := range h.Status.Conditions {
		o.Conditions = append(o.Conditions, evidence.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: message(c.Message), Since: c.LastTransitionTime.Time})
	}
	return o
}
