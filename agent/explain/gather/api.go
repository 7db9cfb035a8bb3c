package gather

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// ask asks the API server about one pod.
type ask struct {
	ctx  context.Context
	memo *memo

	mu sync.Mutex // of what follows
	s  *evidence.Snapshot
}

func newAsk(ctx context.Context, m *memo, s *evidence.Snapshot) *ask {
	return &ask{ctx: ctx, memo: m, s: s}
}

// maxAnswer bounds the part of an answer that is read, in bytes. maxList bounds how many
// objects of a kind are asked for.
const (
	maxAnswer = 32 << 20
	maxList   = 500
)

// pod asks for the pod, and then for all that it refers to, at once.
func (a *ask) pod() {
	var p corev1.Pod
	path := "api/v1/namespaces/" + a.s.Name.Namespace + "/pods/" + a.s.Name.Name
	if !a.get(path, nil, "pods/"+a.s.Name.Name, &p) {
		if a.s.Pod == nil {
			together(a.eventsOfPod)
		}
		return
	}
	a.given(&p)
}

// given takes a pod that has been read already, and asks for all that it refers to.
func (a *ask) given(p *corev1.Pod) {
	a.s.Pod, a.s.Name.UID = trimmed(p), string(p.UID)
	a.around(p)
}

// around asks for what a pod refers to.
func (a *ask) around(p *corev1.Pod) {
	together(
		a.eventsOfPod,
		func() { a.owners(p) },
		func() { a.node(p) },
		func() { a.storage(p) },
		func() { a.portHolders(p) },
		func() { a.config(p) },
		func() { a.classes(p) },
		func() { a.resources(p) },
		func() { a.policies(p) },
		func() { a.webhooks(p) },
	)
	slices.SortStableFunc(a.s.Cluster.Events, func(x, y evidence.Event) int { return x.Last.Compare(y.Last) })
}

// get asks for one object. It notes where the object is from, or why it could not be had.
func (a *ask) get(path string, query url.Values, what string, into any) bool {
	return a.noted(what, a.memo.call(a.ctx, path, query, into))
}

// noted notes where a part is from, or with an error why it could not be had.
func (a *ask) noted(what string, err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		a.s.Saw(evidence.API, what, time.Now())
		return true
	case kubeapi.IsCode(err, http.StatusNotFound):
		a.s.Saw(evidence.API, what, time.Now())
		a.s.Cluster.Missing = append(a.s.Cluster.Missing, what)
		return false
	}
	code, message := WhyNot(err)
	a.s.Missed(evidence.API, what, code, message)
	return false
}

// list is one page of objects.
type list[T any] struct {
	Items []T `json:"items"`
}

// all asks for the objects of a kind that a selector chooses, at most maxList.
func all[T any](a *ask, path string, query url.Values, what string) ([]T, bool) {
	q := url.Values{"limit": {strconv.Itoa(maxList)}}
	for k, v := range query {
		q[k] = v
	}
	var l list[T]
	if !a.get(path, q, what, &l) {
		return nil, false
	}
	return l.Items, true
}

// put changes the snapshot.
func (a *ask) put(change func(s *evidence.Snapshot)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.s)
}

// node asks for the pod's node and for its lease. By the lease a kubelet shows that it lives.
func (a *ask) node(p *corev1.Pod) {
	name := p.Spec.NodeName
	if name == "" {
		together(a.schedulers, a.candidates, func() { a.placed(p) })
		return
	}
	a.nodeNamed(name)
}

// nodeNamed asks for a node and its lease.
func (a *ask) nodeNamed(name string) {
	together(func() {
		var n corev1.Node
		if a.get("api/v1/nodes/"+name, nil, "nodes/"+name, &n) {
			a.put(func(s *evidence.Snapshot) { s.Cluster.Node = trimmedNode(&n) })
		}
	}, func() {
		var l coordinationv1.Lease
		if a.get("apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+name, nil, "leases/"+name, &l) {
			l.ManagedFields = nil
			a.put(func(s *evidence.Snapshot) { s.Cluster.Lease = &l })
		}
	})
}

// schedulerSilent is how old a leader's lease may be. By default a leader has 15 seconds to renew it.
const schedulerSilent = 60 * time.Second

// schedulers asks which schedulers are there. Each holds a lease of its name.
func (a *ask) schedulers() {
	leases, ok := all[coordinationv1.Lease](a, "apis/coordination.k8s.io/v1/namespaces/kube-system/leases", nil, "leases in kube-system")
	if !ok {
		return
	}
	names := []string{}
	for _, l := range leases {
		if r := l.Spec.RenewTime; r != nil && time.Since(r.Time) < schedulerSilent {
			names = append(names, l.Name)
		}
	}
	a.put(func(s *evidence.Snapshot) { s.Cluster.Schedulers = names })
}

// candidates asks for the nodes that a scheduler can choose from, and for what keeps pods from them.
func (a *ask) candidates() {
	every := &a.memo.nodes
	every.once.do(func() {
		var l list[nodeHead]
		every.err = a.memo.call(a.ctx, "api/v1/nodes", url.Values{"limit": {strconv.Itoa(maxList)}}, &l)
		for i := range l.Items {
			n := &l.Items[i]
			every.nodes = append(every.nodes, evidence.Candidate{
				Name: n.Metadata.Name, Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints, Allocatable: n.Status.Allocatable,
				Labels: shownPart(&metav1.ObjectMeta{Labels: n.Metadata.Labels}).Labels,
			})
		}
	})
	a.noted("nodes", every.err)
	a.put(func(s *evidence.Snapshot) { s.Cluster.Candidates = every.nodes })
}

// nodeHead is the part of a node that a scheduler asks for.
type nodeHead struct {
	Metadata struct {
		Name   string
		Labels map[string]string
	}
	Spec struct {
		Unschedulable bool
		Taints        []corev1.Taint
	}
	Status struct{ Allocatable corev1.ResourceList }
}

// eventsOfPod asks for the events about the pod, by its name: events about a static pod do not
// have the API server's UID.
func (a *ask) eventsOfPod() { a.eventsOf("Pod", a.s.Name.Name) }

// eventsOf asks for the events about an object of the pod's namespace.
func (a *ask) eventsOf(kind, name string) {
	a.eventsIn(a.s.Name.Namespace, kind, name)
}

func (a *ask) eventsIn(namespace, kind, name string) {
	selector := "involvedObject.kind=" + kind + ",involvedObject.name=" + name
	if known, what, more, ok, err := a.memo.eventsOf(a.ctx, namespace, kind, name); ok {
		a.put(func(s *evidence.Snapshot) {
			s.Cluster.Events = append(s.Cluster.Events, known...)
			switch {
			case err != nil:
				code, message := WhyNot(err)
				s.Missed(evidence.API, what, code, message)
			case more:
				s.Missed(evidence.API, what, evidence.Unsupported, "there are more than "+strconv.Itoa(maxEvents))
			}
		})
		return
	}
	items, ok := all[corev1.Event](a, "api/v1/namespaces/"+namespace+"/events", url.Values{"fieldSelector": {selector}}, "events of "+kind+" "+name)
	if !ok {
		return
	}
	a.put(func(s *evidence.Snapshot) {
		for i := range items {
			s.Cluster.Events = append(s.Cluster.Events, eventOf(&items[i]))
		}
	})
}

// eventOf converts an event of the API server, in either of its two forms.
func eventOf(e *corev1.Event) evidence.Event {
	out := evidence.Event{
		Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name, UID: string(e.InvolvedObject.UID), FieldPath: e.InvolvedObject.FieldPath,
		Type: e.Type, Reason: e.Reason, Message: shown(e.Reason, e.Message), Component: cmp.Or(e.Source.Component, e.ReportingController),
		First: e.FirstTimestamp.Time, Last: e.LastTimestamp.Time, Count: int(e.Count),
	}
	if e.Series != nil {
		out.Count, out.Last = int(e.Series.Count), e.Series.LastObservedTime.Time
	}
	if out.First.IsZero() {
		out.First = cmp.Or(e.EventTime.Time, e.CreationTimestamp.Time)
	}
	if out.Last.IsZero() {
		out.Last = out.First
	}
	out.Count = max(out.Count, 1)
	return out
}
