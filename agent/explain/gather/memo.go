package gather

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// maxAsked bounds the requests to the API server that are under way at one time.
const maxAsked = 64

// memo asks the API server for each thing once: pods of one owner, on one node, refer
// to the same objects.
type memo struct {
	api   *kubeapi.Client
	slots chan struct{}

	mu      sync.Mutex
	answers map[string]*remembered
	// bulk are the namespaces of which all events are asked for at once.
	bulk   map[string]bool
	events map[string]*eventsOf // by namespace
	placed placedPods
	nodes  allNodes
}

type remembered struct {
	once single
	body json.RawMessage
	err  error
}

// eventsOf are the events of a namespace, by kind/name of what they are about.
type eventsOf struct {
	once single
	all  map[string][]evidence.Event
	err  error
	// more reports that there are more events than were read.
	more bool
}

func newMemo(api *kubeapi.Client) *memo {
	return &memo{api: api, slots: make(chan struct{}, maxAsked), answers: map[string]*remembered{}, events: map[string]*eventsOf{}}
}

// call asks for an object or a list, and decodes it.
func (m *memo) call(ctx context.Context, path string, query url.Values, into any) error {
	key := path + "?" + query.Encode()
	m.mu.Lock()
	r := m.answers[key]
	if r == nil {
		r = &remembered{}
		m.answers[key] = r
	}
	m.mu.Unlock()
	r.once.do(func() { r.err = m.ask(ctx, path, query, &r.body) })
	if r.err != nil {
		return r.err
	}
	return json.Unmarshal(r.body, into)
}

// ask sends a request when few enough are under way.
func (m *memo) ask(ctx context.Context, path string, query url.Values, into any) error {
	select {
	case m.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-m.slots }()
	return m.api.Call(ctx, kubeapi.Request{Path: path, Query: query}, maxAnswer, into)
}

// maxEvents bounds the events of a namespace that are read at once.
const maxEvents = 5000

// eventsOf returns the events about an object, if all events of its namespace are asked for; what is then the name of all of
// them, and more reports that some were not read.
func (m *memo) eventsOf(ctx context.Context, namespace, kind, name string) (of []evidence.Event, what string, more, ok bool, err error) {
	m.mu.Lock()
	if !m.bulk[namespace] {
		m.mu.Unlock()
		return nil, "", false, false, nil
	}
	e := m.events[namespace]
	if e == nil {
		e = &eventsOf{}
		m.events[namespace] = e
	}
	m.mu.Unlock()
	e.once.do(func() { e.read(ctx, m, namespace) })
	return e.all[kind+"/"+name], "events of namespace " + namespace, e.more, true, e.err
}

// read reads the events of a namespace. They may be many and slow: then the pods are explained without them.
func (e *eventsOf) read(ctx context.Context, m *memo, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, sideWithin)
	defer cancel()
	var page struct {
		Metadata metav1.ListMeta `json:"metadata"`
		Items    []corev1.Event  `json:"items"`
	}
	e.err = m.ask(ctx, "api/v1/namespaces/"+namespace+"/events", url.Values{"limit": {strconv.Itoa(maxEvents)}}, &page)
	e.more, e.all = page.Metadata.Continue != "", map[string][]evidence.Event{}
	for i := range page.Items {
		key := page.Items[i].InvolvedObject.Kind + "/" + page.Items[i].InvolvedObject.Name
		e.all[key] = append(e.all[key], eventOf(&page.Items[i]))
	}
}

// allNodes are the cluster's nodes. Every pod without a node needs all of them.
type allNodes struct {
	once  single
	nodes []evidence.Candidate
	err   error
}

// single lets the first caller do something, while all others wait until it is done. In place of a sync.Once it waits by a
// channel, which tests with virtual time (testing/synctest) can see.
type single struct {
	mu   sync.Mutex
	done chan struct{}
}

func (s *single) do(something func()) {
	s.mu.Lock()
	first := s.done == nil
	if first {
		s.done = make(chan struct{})
	}
	s.mu.Unlock()
	if first {
		defer close(s.done)
		something()
		return
	}
	<-s.done
}
