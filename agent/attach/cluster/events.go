package cluster

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
)

const (
	// maxEarly bounds the events that wait for their pod to be known.
	maxEarly = 512
	// maxEvents bounds the events that are remembered of a pod, so that none is reported twice.
	maxEvents = 256
)

// happening is an event object, as the API server gave it.
type happening struct {
	uid, about types.UID
	node       string // the node whose component reported it; empty: none
	from       source
	stated     time.Time

	kind, reason, message, reporter, object string
	count                                   int32
}

func newHappening(e *v1.Event, from source) happening {
	h := happening{
		uid: e.UID, about: e.InvolvedObject.UID, node: e.Source.Host, from: from, stated: e.LastTimestamp.Time,
		kind: e.Type, reason: e.Reason, message: e.Message, reporter: e.ReportingController, object: e.InvolvedObject.FieldPath,
		count: e.Count,
	}
	if h.reporter == "" {
		h.reporter = e.Source.Component
	}
	// Events of the newer kind have a series in place of a count.
	if s := e.Series; s != nil {
		h.count = max(h.count, s.Count)
		h.stated = later(h.stated, s.LastObservedTime.Time)
	}
	h.stated = later(h.stated, e.EventTime.Time)
	if h.stated.IsZero() {
		h.stated = e.CreationTimestamp.Time
	}
	h.count = max(h.count, 1)
	h.message = withoutOutput(h.reason, h.message)
	return h
}

// withoutOutput takes the output of a probed container, which may be anything, out of the kubelet's message about a
// health probe.
func withoutOutput(reason, message string) string {
	if shown, ok := redact.Probe(message); ok {
		return shown
	}
	if reason == "Unhealthy" || reason == "ProbeWarning" {
		// Another version of the kubelet may word it differently.
		message, _, _ = strings.Cut(message, ": ")
	}
	return message
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// event reports an event if its pod is known. Otherwise the event is about a pod of another node, or the pod's object
// is still to come: then event keeps it for late.
func (l *ledger) event(h happening, node string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := h.about
	if original, ok := l.mirrors[id]; ok {
		id = original
	}
	if e := l.pods[id]; e != nil && l.happened(e, &h) {
		return
	}
	if h.node != "" && h.node != node {
		return
	}
	if len(l.early) >= maxEarly {
		l.early = append(l.early[:0], l.early[maxEarly/2:]...)
	}
	l.early = append(l.early, h)
}

// late reports the events that came before their pod. The caller holds mu.
func (l *ledger) late(id types.UID, e *entry) {
	if len(l.early) == 0 {
		return
	}
	rest := l.early[:0]
	for i := range l.early {
		h := l.early[i]
		about := h.about
		if original, ok := l.mirrors[about]; ok {
			about = original
		}
		if about != id || !l.happened(e, &h) {
			rest = append(rest, h)
		}
	}
	l.early = rest
}

// happened reports an event, unless it was reported before. It returns false if there is no object of the pod yet.
// The caller holds mu.
func (l *ledger) happened(e *entry, h *happening) bool {
	p := e.api
	if p == nil {
		p = e.reported
	}
	if p == nil {
		return false
	}
	if n, ok := e.events[h.uid]; ok && n >= h.count {
		return true
	}
	if e.events == nil || len(e.events) >= maxEvents {
		e.events = map[types.UID]int32{}
	}
	e.events[h.uid] = h.count
	seen := observation{p, h.from, l.now()}
	s := seen.report(stepEvent, h.stated, some(h.kind), some(h.reason), words(h.message), int64(h.count), some(h.reporter), some(h.object))
	if h.kind == v1.EventTypeWarning {
		s.Err = because("warning", h.reason, h.message)
	}
	l.emit(probes.ByAPI, s)
	return true
}
