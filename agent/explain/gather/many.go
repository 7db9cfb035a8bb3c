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
	// atOnce is how many pods are asked about at one time.
	atOnce = 16
	// maxPods bounds the pods of which a snapshot is taken.
	maxPods = 1000
	// ManyWithin is how long gathering for many pods takes at most.
	ManyWithin = 20 * time.Second
)

// All gathers what is known of the pods of a namespace, or of all namespaces if it is empty. It
// takes the pods that choose accepts. choose gets a snapshot with the pod alone.
func (f From) All(ctx context.Context, namespace string, choose func(*evidence.Snapshot) bool) (*Many, error) {
	ctx, cancel := context.WithTimeout(ctx, ManyWithin)
	defer cancel()
	m := f.newMany()
	prefix := "api/v1/"
	if namespace != "" {
		prefix += "namespaces/" + namespace + "/"
	}
	m.allEvents(ctx, prefix)
	var chosen []*corev1.Pod
	_, err := kubeapi.List(ctx, f.API, prefix+"pods", nil, func(p *corev1.Pod) {
		m.out.Looked++
		alone := &evidence.Snapshot{Name: nameOf(p), Pod: p, Taken: time.Now()}
		if len(chosen) < maxPods && choose(alone) {
			chosen = append(chosen, p)
		}
	})
	if err != nil {
		return nil, err
	}
	m.each(ctx, chosen)
	m.failedOwners(ctx)
	return m.out, nil
}

// many gathers for many pods. It asks for each thing once.
type many struct {
	From
	memo *memo
	out  *Many
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

// each takes the snapshots of some pods.
func (m *many) each(ctx context.Context, pods []*corev1.Pod) {
	m.out.Pods = make([]*evidence.Snapshot, len(pods))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, p := range pods {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
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

// allEvents asks for all events at once. The events of each pod are then taken from these.
func (m *many) allEvents(ctx context.Context, prefix string) {
	found := map[string][]evidence.Event{}
	_, err := kubeapi.List(ctx, m.API, prefix+"events", nil, func(e *corev1.Event) {
		key := e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
		found[key] = append(found[key], eventOf(e))
	})
	if err != nil {
		code, message := WhyNot(err)
		m.out.Unseen = append(m.out.Unseen, evidence.Unseen{Source: evidence.API, What: "events", Why: code, Message: message})
		return
	}
	m.memo.events = found
}

// freshFailure is how long ago an owner may have failed to make a pod.
const freshFailure = 30 * time.Minute

// failedOwners takes snapshots of owners that could not make a pod lately.
func (m *many) failedOwners(ctx context.Context) {
	for key, events := range m.memo.events {
		for _, e := range events {
			if e.Reason == "FailedCreate" && e.Type == corev1.EventTypeWarning && time.Since(e.Last) < freshFailure {
				namespace, _, _ := strings.Cut(key, "/")
				s, err := m.owner(ctx, evidence.Name{Namespace: namespace, Name: e.Name}, e.Kind)
				if err == nil && s != nil {
					m.out.Owners = append(m.out.Owners, s)
				}
				break
			}
		}
	}
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
