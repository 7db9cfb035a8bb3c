package alerting

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/kubeapi"
)

// Bounds of an Event: how long its requests may take, how long the API server's answer may be, and how much of a text an Event
// may have, which is the API's own bound.
const (
	eventTime   = 10 * time.Second
	eventAnswer = 1 << 20
	eventText   = 1024
)

// EventReason is the reason of the Events.
const EventReason = "PodstepAlert"

// Event writes an Event about the pod of each match, which kubectl describe shows. An alert has one Event for each pod, which
// counts the matches.
type Event struct{ api *kubeapi.Client }

// NewEvent makes an action of an API server.
func NewEvent(api *kubeapi.Client) *Event { return &Event{api} }

func (e *Event) String() string { return "event on the pod" }

// Do writes the Event. A match of the node's own events is about no pod, and has none.
func (e *Event) Do(ctx context.Context, m *alert.Match) error {
	if m.Pod == nil {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, eventTime)
	defer cancel()
	fresh := eventOf(m)
	events := "api/v1/namespaces/" + url.PathEscape(fresh.Namespace) + "/events"
	err := e.send(within, http.MethodPost, events, fresh)
	if !kubeapi.IsCode(err, http.StatusConflict) {
		return err
	}
	var there corev1.Event
	one := events + "/" + url.PathEscape(fresh.Name)
	if err := e.api.Call(within, kubeapi.Request{Path: one}, eventAnswer, &there); err != nil {
		return fmt.Errorf("read the event: %w", err)
	}
	there.Count++
	there.LastTimestamp, there.Message = fresh.LastTimestamp, fresh.Message
	return e.send(within, http.MethodPut, one, &there)
}

func (e *Event) send(ctx context.Context, method, path string, event *corev1.Event) error {
	body, err := json.Marshal(event)
	if err == nil {
		err = e.api.Call(ctx, kubeapi.Request{Method: method, Path: path, ContentType: "application/json", Body: body}, 0, nil)
	}
	if err != nil {
		return fmt.Errorf("write the event: %w", err)
	}
	return nil
}

// eventOf returns the first Event of an alert about a pod.
func eventOf(m *alert.Match) *corev1.Event {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", m.Pod.UID, m.Alert)
	at := metav1.NewTime(m.Time)
	return &corev1.Event{
		TypeMeta:       metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta:     metav1.ObjectMeta{Namespace: m.Pod.Namespace, Name: fmt.Sprintf("%s.podstep-%x", m.Pod.Name[:min(len(m.Pod.Name), 200)], h.Sum64())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: m.Pod.Namespace, Name: m.Pod.Name, UID: types.UID(m.Pod.UID)},
		Reason:         EventReason, Message: eventMessage(m), Type: corev1.EventTypeWarning,
		Source: corev1.EventSource{Component: "podstep"}, FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
}

// eventMessage returns the alert and the match, as much of it as an Event may have.
func eventMessage(m *alert.Match) string {
	text := m.Alert + ": " + m.Text()
	return strings.ToValidUTF8(text[:min(len(text), eventText)], "")
}
