package gather

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// kinds are the owners that can be asked about, by the names that kubectl takes.
var kinds = map[string]struct{ kind, version string }{}

func init() {
	for _, k := range []struct{ kind, version, names string }{
		{"Deployment", "apps/v1", "deployment deployments deploy"},
		{"ReplicaSet", "apps/v1", "replicaset replicasets rs"},
		{"StatefulSet", "apps/v1", "statefulset statefulsets sts"},
		{"DaemonSet", "apps/v1", "daemonset daemonsets ds"},
		{"Job", "batch/v1", "job jobs"},
		{"CronJob", "batch/v1", "cronjob cronjobs cj"},
		{"ReplicationController", "v1", "replicationcontroller replicationcontrollers rc"},
	} {
		for _, n := range strings.Fields(k.names) {
			kinds[n] = struct{ kind, version string }{k.kind, k.version}
		}
	}
}

// KindOf returns the kind of owners that a person calls so, by the names that kubectl takes. It
// is empty if there is none.
func KindOf(name string) string { return kinds[strings.ToLower(name)].kind }

// others are the names that kubectl takes for kinds that podstep does not explain.
var others = map[string]bool{}

func init() {
	for _, n := range strings.Fields(`persistentvolume persistentvolumes pv endpoints ep endpointslice endpointslices ingress ingresses ing configmap configmaps cm secret secrets
		horizontalpodautoscaler horizontalpodautoscalers hpa poddisruptionbudget poddisruptionbudgets pdb
		serviceaccount serviceaccounts sa storageclass storageclasses sc networkpolicy networkpolicies netpol event events ev
		resourcequota resourcequotas quota volumeattachment volumeattachments`) {
		others[n] = true
	}
}

// IsOtherKind reports whether a person calls so a kind that podstep does not explain, by the names that kubectl takes.
func IsOtherKind(name string) bool { return others[strings.ToLower(name)] }

// Owner gathers what is known of an owner and of its pods. The snapshot of the owner
// has no pod.
func (f From) Owner(ctx context.Context, kind string, name evidence.Name) (*Many, error) {
	k, ok := kinds[strings.ToLower(kind)]
	if !ok {
		return nil, fmt.Errorf("%s is no kind that owns pods", kind)
	}
	ctx, cancel := context.WithTimeout(ctx, ManyWithin)
	defer cancel()
	m := f.newMany()
	s, err := m.owner(ctx, name, k.kind)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, fmt.Errorf("there is no %s %s", strings.ToLower(k.kind), name)
	}
	var owners []string
	for _, o := range s.Cluster.Owners {
		owners = append(owners, o.UID)
	}
	selector, err := m.selector(ctx, k.version, k.kind, name)
	if err != nil {
		return nil, err
	}
	if err := m.podsOf(ctx, name.Namespace, selector, owners); err != nil {
		return nil, err
	}
	m.out.Owners = append(m.out.Owners, s)
	return m.out, nil
}

// owner takes a snapshot of an owner, of what stands between it and its pods, and of its own
// owners. It is nil if there is no such owner.
func (m *many) owner(ctx context.Context, name evidence.Name, kind string) (*evidence.Snapshot, error) {
	version := kinds[strings.ToLower(kind)].version
	if version == "" {
		return nil, nil
	}
	s := &evidence.Snapshot{Name: name, Taken: time.Now()}
	a := newAsk(ctx, m.memo, s)
	o, above, _ := a.owner(version, kind, name.Name)
	if o.Missing {
		return nil, nil
	}
	if o.UID == "" {
		if n := len(s.Unseen); n > 0 {
			return nil, fmt.Errorf("read %s %s: %s", strings.ToLower(kind), name, s.Unseen[n-1].Message)
		}
		return nil, nil
	}
	s.Cluster.Owners = append(s.Cluster.Owners, o)
	a.eventsOf(kind, name.Name)
	switch kind {
	case "Deployment":
		a.owned(version, "ReplicaSet", o.UID)
	case "CronJob":
		a.owned(version, "Job", o.UID)
	}
	for _, ref := range above {
		if ref.Controller != nil && *ref.Controller {
			if up, _, ok := a.owner(ref.APIVersion, ref.Kind, ref.Name); ok {
				s.Cluster.Owners = append(s.Cluster.Owners, up)
				a.eventsOf(ref.Kind, ref.Name)
			}
		}
	}
	a.quotas()
	s.Taken = time.Now()
	return s, nil
}

// owned adds the objects of a kind that belong to an owner, and their events: a Deployment's
// ReplicaSets, a CronJob's Jobs.
func (a *ask) owned(version, kind, uid string) {
	items, _ := all[json.RawMessage](a, "apis/"+version+"/namespaces/"+a.s.Name.Namespace+"/"+resourceOf(kind), nil, resourceOf(kind))
	for _, raw := range items {
		var head ownerHead
		var name struct{ Metadata struct{ Name string } }
		if json.Unmarshal(raw, &head) != nil || json.Unmarshal(raw, &name) != nil {
			continue
		}
		for _, ref := range head.Metadata.OwnerReferences {
			if string(ref.UID) != uid {
				continue
			}
			o := head.into(evidence.Owner{APIVersion: version, Kind: kind, Name: name.Metadata.Name, Wanted: -1, Made: -1, Ready: -1})
			a.s.Cluster.Owners = append(a.s.Cluster.Owners, o)
			if o.Wanted != 0 {
				a.eventsOf(kind, o.Name)
			}
		}
	}
}

// selector returns the selector by which an owner knows its pods. A CronJob has none: its Jobs
// have selectors, and are told apart by their UIDs.
func (m *many) selector(ctx context.Context, version, kind string, name evidence.Name) (string, error) {
	if kind == "CronJob" {
		return "", nil
	}
	prefix := "apis/" + version
	if !strings.Contains(version, "/") {
		prefix = "api/" + version
	}
	var o struct {
		Spec struct{ Selector json.RawMessage }
	}
	if err := m.memo.call(ctx, prefix+"/namespaces/"+name.Namespace+"/"+resourceOf(kind)+"/"+name.Name, nil, &o); err != nil {
		return "", err
	}
	if kind == "ReplicationController" {
		set := map[string]string{}
		if err := json.Unmarshal(o.Spec.Selector, &set); err != nil {
			return "", fmt.Errorf("read selector: %w", err)
		}
		return labels.SelectorFromSet(set).String(), nil
	}
	var s metav1.LabelSelector
	if len(o.Spec.Selector) > 0 {
		if err := json.Unmarshal(o.Spec.Selector, &s); err != nil {
			return "", fmt.Errorf("read selector: %w", err)
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return "", fmt.Errorf("read selector: %w", err)
	}
	return selector.String(), nil
}
