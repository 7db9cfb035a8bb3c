package gather

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// objectKind is a kind of objects that can be asked about, beside pods and their owners.
type objectKind struct {
	kind     string
	resource string
	// namespaced: objects of the kind are in a namespace.
	namespaced bool
	// read reads the object, and what belongs to it.
	read func(*many, context.Context, *ask)
	// pods returns where its pods are listed, and which of them belong to it.
	pods func(*evidence.Snapshot) (path string, query url.Values, mine func(*corev1.Pod) bool)
}

// objectKinds are these kinds, by the names that kubectl takes.
var objectKinds = map[string]objectKind{}

func init() {
	for names, k := range map[string]objectKind{
		"node nodes no":           {evidence.KindNode, "nodes", false, (*many).readNode, podsOfNode},
		"namespace namespaces ns": {evidence.KindNamespace, "namespaces", false, (*many).readNamespace, podsOfNamespace},
		"persistentvolumeclaim persistentvolumeclaims pvc": {evidence.KindClaim, "persistentvolumeclaims", true, (*many).readClaim, podsOfClaim},
		"service services svc":                             {evidence.KindService, "services", true, (*many).readService, podsOfService},
	} {
		for _, n := range strings.Fields(names) {
			objectKinds[n] = k
		}
	}
}

// IsObject reports whether a person calls so a kind of objects that Object takes, by the names that kubectl takes.
func IsObject(kind string) bool { return objectKinds[strings.ToLower(kind)].kind != "" }

// Object gathers what is known of an object that is no pod and owns none, and of its pods that choose accepts. choose gets a
// snapshot with the pod alone. The namespace of name does not matter where the kind has none.
func (f From) Object(ctx context.Context, kind string, name evidence.Name, choose func(*evidence.Snapshot) bool) (*Many, error) {
	k, ok := objectKinds[strings.ToLower(kind)]
	if !ok {
		return nil, fmt.Errorf("%s is no kind that can be asked about", kind)
	}
	ctx, cancel := context.WithTimeout(ctx, ManyWithin)
	defer cancel()
	name.Kind = k.kind
	if !k.namespaced {
		name.Namespace = ""
	}
	m := f.newMany()
	s := &evidence.Snapshot{Name: name, Taken: time.Now()}
	k.read(m, ctx, newAsk(ctx, m.memo, s))
	if what := k.resource + "/" + name.Name; !slices.ContainsFunc(s.Origins, func(o evidence.Origin) bool { return o.What == what }) {
		return nil, fmt.Errorf("read %s: %s", name, whyUnseen(s, what))
	} else if slices.Contains(s.Cluster.Missing, what) {
		return nil, fmt.Errorf("there is no %s", name)
	}
	m.out.Object = s
	chosen := m.podsOfObject(ctx, &k, s, choose)
	s.Taken = time.Now()
	m.each(ctx, chosen)
	return m.out, nil
}

// podsOfObject returns the pods of an object that choose accepts, and counts all of them.
func (m *many) podsOfObject(ctx context.Context, k *objectKind, s *evidence.Snapshot, choose func(*evidence.Snapshot) bool) (chosen []*corev1.Pod) {
	path, query, mine := k.pods(s)
	if path == "" {
		return nil
	}
	_, err := kubeapi.List(ctx, m.API, path, query, func(p *corev1.Pod) {
		if mine != nil && !mine(p) {
			return
		}
		m.out.Looked++
		s.Cluster.Pods = append(s.Cluster.Pods, briefOf(p))
		if len(chosen) < maxPods && choose(&evidence.Snapshot{Name: nameOf(p), Pod: p, Taken: time.Now()}) {
			chosen = append(chosen, p)
		}
	})
	if err != nil { // the object itself is worth an answer
		code, message := WhyNot(err)
		s.Missed(evidence.API, "pods of "+s.Name.String(), code, message)
	} else {
		s.Saw(evidence.API, "pods of "+s.Name.String(), time.Now())
	}
	return chosen
}

// briefOf returns the part of a pod that matters for an object to which the pod belongs.
func briefOf(p *corev1.Pod) evidence.Brief {
	out := evidence.Brief{Name: p.Name, Gone: p.DeletionTimestamp != nil}
	for _, k := range p.Status.Conditions {
		out.Ready = out.Ready || k.Type == corev1.PodReady && k.Status == corev1.ConditionTrue
	}
	for _, k := range p.Spec.Containers {
		for _, port := range k.Ports {
			if port.Name != "" {
				out.Ports = append(out.Ports, port.Name)
			}
		}
	}
	return out
}

// whyUnseen returns why a part of a snapshot could not be had.
func whyUnseen(s *evidence.Snapshot, what string) string {
	i := slices.IndexFunc(s.Unseen, func(u evidence.Unseen) bool { return u.What == what })
	if i < 0 {
		return "the API server did not answer"
	}
	return s.Unseen[i].Reason()
}

// metaNamespace is where the events about objects without a namespace are.
const metaNamespace = "default"

// readNode reads a node with its lease and its events, and asks its kubelet.
func (m *many) readNode(ctx context.Context, a *ask) {
	s := a.s
	together(func() { a.nodeNamed(s.Name.Name) }, func() { a.eventsIn(metaNamespace, "Node", s.Name.Name) })
	if s.Cluster.Node == nil {
		return
	}
	for _, source := range m.More {
		if k, ok := source.(*Kubelet); ok {
			if fill := k.Look(ctx, &Subject{Name: s.Name, Kubelet: s.Name, Snapshot: s}); fill != nil {
				fill(s)
			}
		}
	}
}

func podsOfNode(s *evidence.Snapshot) (string, url.Values, func(*corev1.Pod) bool) {
	return "api/v1/pods", url.Values{"fieldSelector": {"spec.nodeName=" + s.Name.Name}}, nil
}

func (m *many) readNamespace(_ context.Context, a *ask) {
	var n corev1.Namespace
	if a.get("api/v1/namespaces/"+a.s.Name.Name, nil, "namespaces/"+a.s.Name.Name, &n) {
		n.ManagedFields, n.Annotations = nil, nil
		a.put(func(s *evidence.Snapshot) { s.Cluster.Namespace = &n })
	}
}

func podsOfNamespace(s *evidence.Snapshot) (string, url.Values, func(*corev1.Pod) bool) {
	return "api/v1/namespaces/" + s.Name.Name + "/pods", nil, nil
}

func (m *many) readClaim(_ context.Context, a *ask) { a.claim(a.s.Name.Name) }

func podsOfClaim(s *evidence.Snapshot) (string, url.Values, func(*corev1.Pod) bool) {
	return "api/v1/namespaces/" + s.Name.Namespace + "/pods", nil, func(p *corev1.Pod) bool {
		return slices.Contains(claimsOf(p), s.Name.Name) && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	}
}

// readService reads a service, and counts its endpoints.
func (m *many) readService(_ context.Context, a *ask) {
	prefix := "/namespaces/" + a.s.Name.Namespace + "/"
	var v corev1.Service
	if !a.get("api/v1"+prefix+"services/"+a.s.Name.Name, nil, "services/"+a.s.Name.Name, &v) {
		return
	}
	v.ManagedFields, v.Annotations = nil, nil
	a.put(func(s *evidence.Snapshot) { s.Cluster.Service = &v })
	parts, ok := all[discoveryv1.EndpointSlice](a, "apis/discovery.k8s.io/v1"+prefix+"endpointslices",
		url.Values{"labelSelector": {discoveryv1.LabelServiceName + "=" + v.Name}}, "endpointslices of service "+v.Name)
	if !ok {
		return
	}
	var count evidence.Endpoints
	for i := range parts {
		for _, e := range parts[i].Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				count.Ready++
			} else {
				count.NotReady++
			}
		}
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.Endpoints = &count })
}

func podsOfService(s *evidence.Snapshot) (string, url.Values, func(*corev1.Pod) bool) {
	v := s.Cluster.Service
	if v == nil || len(v.Spec.Selector) == 0 {
		return "", nil, nil
	}
	return "api/v1/namespaces/" + s.Name.Namespace + "/pods", url.Values{"labelSelector": {labels.SelectorFromSet(v.Spec.Selector).String()}}, nil
}

// nodeName returns the node that a subject is on, or is; empty: it has none.
func (of *Subject) nodeName() string {
	switch {
	case of.Name.Kind == evidence.KindNode:
		return of.Name.Name
	case of.Snapshot.Pod != nil:
		return of.Snapshot.Pod.Spec.NodeName
	}
	return ""
}
