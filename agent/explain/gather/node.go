package gather

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// Node gathers what is known of a node, and of its pods that choose accepts. choose gets a snapshot with the pod alone.
func (f From) Node(ctx context.Context, name string, choose func(*evidence.Snapshot) bool) (*Many, error) {
	ctx, cancel := context.WithTimeout(ctx, ManyWithin)
	defer cancel()
	m := f.newMany()
	if err := m.node(ctx, name); err != nil {
		return nil, err
	}
	var chosen []*corev1.Pod
	_, err := kubeapi.List(ctx, f.API, "api/v1/pods", url.Values{"fieldSelector": {"spec.nodeName=" + name}}, func(p *corev1.Pod) {
		m.out.Looked++
		if len(chosen) < maxPods && choose(&evidence.Snapshot{Name: nameOf(p), Pod: p, Taken: time.Now()}) {
			chosen = append(chosen, p)
		}
	})
	if err != nil { // the node itself is worth an answer
		code, message := WhyNot(err)
		m.out.Unseen = append(m.out.Unseen, evidence.Unseen{Source: evidence.API, What: "pods of node " + name, Why: code, Message: message})
	}
	m.each(ctx, chosen)
	return m.out, nil
}

// node takes the snapshot of a node: its object, its lease and its events, and what its kubelet serves.
func (m *many) node(ctx context.Context, name string) error {
	s := &evidence.Snapshot{Name: evidence.Name{Kind: evidence.KindNode, Name: name}, Taken: time.Now()}
	a := newAsk(ctx, m.memo, s)
	together(func() { a.nodeNamed(name) }, func() { a.eventsIn(metaNamespace, "Node", name) })
	if s.Cluster.Node == nil {
		if slices.Contains(s.Cluster.Missing, "nodes/"+name) {
			return fmt.Errorf("there is no node %s", name)
		}
		return fmt.Errorf("read node %s: %s", name, whyUnseen(s, "nodes/"+name))
	}
	for _, source := range m.More {
		if k, ok := source.(*Kubelet); ok {
			if fill := k.Look(ctx, &Subject{Name: s.Name, Kubelet: s.Name, Snapshot: s}); fill != nil {
				fill(s)
			}
		}
	}
	s.Taken = time.Now()
	m.out.Node = s
	return nil
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
