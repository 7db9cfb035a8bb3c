package gather

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// Many is what is known of many pods.
type Many struct {
	// Pods are the snapshots of the chosen pods.
	Pods []*evidence.Snapshot
	// Owners are snapshots of owners that could not make a pod: they have no pod.
	Owners []*evidence.Snapshot
	// Object is the snapshot of the object that was asked about; nil: none was.
	Object *evidence.Snapshot
	// Looked is how many pods were looked at.
	Looked int
	Unseen []evidence.Unseen
}

const (
	// maxPods bounds the pods of which a snapshot is taken.
	maxPods = 1000
	// ManyWithin is how long gathering for many pods takes at most.
	ManyWithin = 20 * time.Second
	// sideWithin is how long what goes beside the pods may take: events, and owners that cannot make pods.
	sideWithin = 8 * time.Second
)

// All gathers what is known of the pods of a namespace, or of all namespaces if it is empty. It
// takes the pods that choose accepts. choose gets a snapshot with the pod alone. If not all pods can be listed, the others
// are explained, and Unseen says so.
func (f From) All(ctx context.Context, namespace string, choose func(*evidence.Snapshot) bool) (*Many, error) {
	ctx, cancel := context.WithTimeout(ctx, ManyWithin)
	defer cancel()
	m := f.newMany()
	prefix := "api/v1/"
	if namespace != "" {
		prefix += "namespaces/" + namespace + "/"
	}
	var chosen []*corev1.Pod
	var failed []evidence.Event
	var err error
	together(
		func() { chosen, err = m.list(ctx, prefix, namespace == "", choose) },
		func() { failed = m.failures(ctx, prefix) },
	)
	if err != nil {
		return nil, err
	}
	m.memo.bulk = crowded(chosen)
	together(
		func() { m.each(ctx, chosen) },
		func() { m.failedOwners(ctx, failed) },
	)
	return m.out, nil
}

// list lists the pods, and returns those that choose accepts. Of all namespaces it also keeps the pods that have a node.
func (m *many) list(ctx context.Context, prefix string, whole bool, choose func(*evidence.Snapshot) bool) (chosen []*corev1.Pod, err error) {
	ctx, cancel := context.WithTimeout(ctx, ManyWithin/2)
	defer cancel()
	placed := &evidence.Placed{}
	left := 0
	_, err = kubeapi.List(ctx, m.API, prefix+"pods", nil, func(p *corev1.Pod) {
		m.out.Looked++
		addPlaced(placed, p)
		alone := &evidence.Snapshot{Name: nameOf(p), Pod: p, Taken: time.Now()}
		switch {
		case !choose(alone):
		case len(chosen) < maxPods:
			chosen = append(chosen, p)
		default:
			left++
		}
	})
	if err != nil && m.out.Looked == 0 {
		return nil, err
	}
	if left > 0 {
		m.missed("pods", evidence.Unsupported, "only the first "+strconv.Itoa(maxPods)+" that are not well are explained, and not "+strconv.Itoa(left)+" more")
	}
	if err != nil {
		placed.Partial = true
		code, message := WhyNot(err)
		m.missed("pods after the first "+strconv.Itoa(m.out.Looked), code, message)
	}
	if whole {
		m.memo.placed.once.do(func() { m.memo.placed.placed = placed })
	}
	return chosen, nil
}

// missed notes what could not be seen of many pods.
func (m *many) missed(what, why, message string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.out.Unseen = append(m.out.Unseen, evidence.Unseen{Source: evidence.API, What: what, Why: why, Message: message})
}

// failures returns the newest events by which owners say that they could not make a pod.
func (m *many) failures(ctx context.Context, prefix string) (out []evidence.Event) {
	ctx, cancel := context.WithTimeout(ctx, sideWithin)
	defer cancel()
	var l list[corev1.Event]
	if err := m.memo.call(ctx, prefix+"events", url.Values{"fieldSelector": {"reason=FailedCreate"}, "limit": {strconv.Itoa(maxList)}}, &l); err != nil {
		code, message := WhyNot(err)
		m.missed("events FailedCreate", code, message)
		return nil
	}
	for i := range l.Items {
		e := eventOf(&l.Items[i])
		e.Namespace = l.Items[i].InvolvedObject.Namespace
		out = append(out, e)
	}
	return out
}

// crowd is how many pods of one namespace are asked about at least for its events to be listed as a whole.
const crowd = 5

// crowded returns the namespaces of many of the pods.
func crowded(pods []*corev1.Pod) map[string]bool {
	count, out := map[string]int{}, map[string]bool{}
	for _, p := range pods {
		count[p.Namespace]++
		out[p.Namespace] = count[p.Namespace] >= crowd
	}
	return out
}

// many gathers for many pods. It asks for each thing once.
type many struct {
	From
	memo *memo

	mu  sync.Mutex
	out *Many
}

func (f From) newMany() *many {
	return &many{From: f, memo: newMemo(f.API), out: &Many{Unseen: slices.Clone(f.Absent)}}
}

// podsOf takes the snapshots of the pods in a namespace that a selector chooses and whose owner
// is one of owners, by UID.
func (m *many) podsOf(ctx context.Context, namespace, selector string, owners []string) error {
	var chosen []*corev1.Pod
	_, err := kubeapi.List(ctx, m.API, "api/v1/namespaces/"+namespace+"/pods", url.Values{"labelSelector": {selector}}, func(p *corev1.Pod) {
		ref := metav1.GetControllerOfNoCopy(p)
		if ref != nil && slices.Contains(owners, string(ref.UID)) && len(chosen) < maxPods {
			chosen = append(chosen, p)
		}
	})
	if err != nil {
		return err
	}
	m.out.Looked = len(chosen)
	m.each(ctx, chosen)
	return nil
}

func nameOf(p *corev1.Pod) evidence.Name {
	return evidence.Name{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
}

// each takes the snapshots of some pods, of all of them at once: the memo bounds the requests that are under way.
func (m *many) each(ctx context.Context, pods []*corev1.Pod) {
	m.out.Pods = make([]*evidence.Snapshot, len(pods))
	var wg sync.WaitGroup
	for i, p := range pods {
		wg.Go(func() {
			s := &evidence.Snapshot{Name: nameOf(p), Taken: time.Now()}
			s.Unseen = append(s.Unseen, m.Absent...)
			s.Saw(evidence.API, "pods/"+p.Name, time.Now())
			newAsk(ctx, m.memo, s).given(p)
			m.more(ctx, s)
			s.Taken = time.Now()
			m.out.Pods[i] = s
		})
	}
	wg.Wait()
}

// freshFailure is how long ago an owner may have failed to make a pod.
const freshFailure = 30 * time.Minute

// failedOwners takes snapshots of owners that could not make a pod lately.
func (m *many) failedOwners(ctx context.Context, failed []evidence.Event) {
	asked := map[string]bool{}
	var wg sync.WaitGroup
	for _, e := range failed {
		key := e.Namespace + "/" + e.Kind + "/" + e.Name
		if asked[key] || e.Type != corev1.EventTypeWarning || time.Since(e.Last) >= freshFailure {
			continue
		}
		asked[key] = true
		wg.Go(func() {
			s, err := m.owner(ctx, evidence.Name{Namespace: e.Namespace, Name: e.Name}, e.Kind)
			switch {
			case err != nil:
				code, message := WhyNot(err)
				m.missed(strings.ToLower(e.Kind)+"s/"+e.Name, code, message)
			case s != nil:
				m.mu.Lock()
				defer m.mu.Unlock()
				m.out.Owners = append(m.out.Owners, s)
			}
		})
	}
	wg.Wait()
}

// Named returns the pods of a name, in all namespaces.
func Named(ctx context.Context, api *kubeapi.Client, name string) (out []evidence.Name, err error) {
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	_, err = kubeapi.List(ctx, api, "api/v1/pods", url.Values{"fieldSelector": {"metadata.name=" + name}}, func(p *corev1.Pod) {
		out = append(out, nameOf(p))
	})
	return out, err
}

// maxUnscheduled bounds how many pods without a node are returned.
const maxUnscheduled = 200

// Unscheduled returns the pods that have no node, each with its object alone: one page of them.
func (f From) Unscheduled(ctx context.Context) (out []*evidence.Snapshot, err error) {
	if f.API == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, Within)
	defer cancel()
	var page struct {
		Items []corev1.Pod `json:"items"`
	}
	err = f.API.Call(ctx, kubeapi.Request{Path: "api/v1/pods", Query: url.Values{
		"fieldSelector": {"spec.nodeName=,status.phase=Pending"}, "limit": {strconv.Itoa(maxUnscheduled)},
	}}, maxAnswer, &page)
	if err != nil {
		return nil, err
	}
	for i := range page.Items {
		p := &page.Items[i]
		out = append(out, &evidence.Snapshot{Name: nameOf(p), Pod: trimmed(p), Taken: time.Now()})
	}
	return out, nil
}
