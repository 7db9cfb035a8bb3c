package gather

import (
	"context"
	"encoding/json"
	"net/url"
	"sync"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// memo asks the API server for each thing once: pods of one owner, on one node, refer
// to the same objects.
type memo struct {
	api *kubeapi.Client

	mu      sync.Mutex
	answers map[string]*remembered
	// events are the events of all namespaces, by namespace/kind/name. It is nil if they were
	// not asked for as a whole.
	events map[string][]evidence.Event
	placed placedPods
}

type remembered struct {
	once sync.Once
	body json.RawMessage
	err  error
}

func newMemo(api *kubeapi.Client) *memo {
	return &memo{api: api, answers: map[string]*remembered{}}
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
	r.once.Do(func() {
		r.err = m.api.Call(ctx, kubeapi.Request{Path: path, Query: query}, maxAnswer, &r.body)
	})
	if r.err != nil {
		return r.err
	}
	return json.Unmarshal(r.body, into)
}

// eventsOf returns the events about an object, if all events were asked for.
func (m *memo) eventsOf(namespace, kind, name string) (of []evidence.Event, ok bool) {
	if m.events == nil {
		return nil, false
	}
	return m.events[namespace+"/"+kind+"/"+name], true
}
