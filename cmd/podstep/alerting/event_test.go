package alerting

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/probes"
)

// match is a match of the alert err.
func match(text string) *alert.Match {
	at := time.Unix(1_800_000_000, 0)
	return &alert.Match{
		Alert: "err", Time: at, Pod: &probes.Pod{Namespace: "shop", Name: "web", UID: "u-web"},
		Parts: []alert.Part{{Part: "err", Time: at, Event: &probes.Event{Kind: probes.Exit, Step: "cri.PullImage", Error: text}}},
	}
}

// eventServer keeps Events as an API server does.
type eventServer struct {
	mu     sync.Mutex
	events map[string]*corev1.Event // by path
}

func (s *eventServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &corev1.Event{}
	path := r.URL.Path
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(e); err != nil {
			apitest.Fail(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		path += "/" + e.Name
		if s.events[path] != nil {
			apitest.Fail(w, http.StatusConflict, "it exists already")
			return
		}
		s.events[path] = e
	case http.MethodPut:
		s.events[path] = e
	}
	apitest.Answer(w, http.StatusOK, s.events[path])
}

// TestEvent: an alert has one Event for each pod, which counts the matches, and is about the pod as kubectl describe looks for it.
func TestEvent(t *testing.T) {
	s := &eventServer{events: map[string]*corev1.Event{}}
	api := apitest.Start(t, s)
	e := NewEvent(api.Client(t))
	again, other, node := match("no such image"), match("no such image"), match("the node's own")
	again.Time = again.Time.Add(time.Minute)
	other.Alert, node.Pod = "state=stuck", nil
	other.Parts[0].Event.Error = strings.Repeat("€", 2000)
	for _, m := range []*alert.Match{match("no such image"), again, other, node} {
		if err := e.Do(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.events) != 2 {
		t.Fatalf("%d events, want one for each alert about the pod", len(s.events))
	}
	for path, got := range s.events {
		of := got.InvolvedObject
		if !strings.HasPrefix(path, "/api/v1/namespaces/shop/events/web.podstep-") || of.Kind != "Pod" || of.Name != "web" || of.UID != "u-web" || got.Reason != EventReason || got.Type != "Warning" {
			t.Errorf("%s is %+v", path, got)
		}
		if strings.HasPrefix(got.Message, "state=stuck: ") {
			if len(got.Message) > 1024 || got.Count != 1 {
				t.Errorf("%d bytes, count %d", len(got.Message), got.Count)
			}
			continue
		}
		if got.Count != 2 || !got.LastTimestamp.Time.Equal(again.Time) || !strings.Contains(got.Message, "no such image") {
			t.Errorf("the event that came twice is %+v", got)
		}
	}
	api.Refuse("/api/v1/namespaces/shop/events", http.StatusForbidden)
	if err := e.Do(t.Context(), match("x")); err == nil || !strings.Contains(err.Error(), "write the event: ") {
		t.Errorf("without the right: %v", err)
	}
}
