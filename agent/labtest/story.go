package labtest

import (
	"context"
	"fmt"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Story returns the events of the pods with that name that the flight recorder remembers.
func (l *Lab) Story(pod string) []probes.Event {
	l.tb.Helper()
	var out []probes.Event
	l.events(l.Context(), &agentpb.WatchRequest{Pods: &agentpb.PodSelector{Name: pod}, OnlyHistory: true}, func(e probes.Event) bool {
		out = append(out, e)
		return true
	})
	return out
}

// Recorded returns all events that the flight recorder remembers, also those of the node.
func (l *Lab) Recorded() []probes.Event {
	l.tb.Helper()
	var out []probes.Event
	l.events(l.Context(), &agentpb.WatchRequest{OnlyHistory: true, Node: true}, func(e probes.Event) bool {
		out = append(out, e)
		return true
	})
	return out
}

// UntilEvent follows a pod's story from its beginning until is returns true, and returns the events up to there.
func (l *Lab) UntilEvent(pod, what string, is func(probes.Event) bool) []probes.Event {
	l.tb.Helper()
	var out []probes.Event
	found := false
	l.events(l.Context(), &agentpb.WatchRequest{Pods: &agentpb.PodSelector{Name: pod}, History: true}, func(e probes.Event) bool {
		out = append(out, e)
		found = is(e)
		return !found
	})
	if !found {
		l.tb.Fatalf("the story of %s has no %s in %d events, the last of which are:\n%s", pod, what, len(out), lines(out[max(0, len(out)-30):]))
	}
	return out
}

// lines returns events as text, one a line, for the message of a failed test.
func lines(events []probes.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "\t%s %s of %s %s %v\n", e.Time.Format("15:04:05.000"), e.Kind, e.Step, e.Error, e.Fields)
	}
	return b.String()
}

// UntilAnyEvent follows the events of all pods from now on until is returns true.
func (l *Lab) UntilAnyEvent(what string, is func(probes.Event) bool) {
	l.tb.Helper()
	found := false
	l.events(l.Context(), &agentpb.WatchRequest{}, func(e probes.Event) bool {
		found = is(e)
		return !found
	})
	if !found {
		l.tb.Fatalf("no %s is seen", what)
	}
}

// Follow gives all pods' events from now on to see, until ctx ends.
func (l *Lab) Follow(ctx context.Context, see func(probes.Event)) {
	l.tb.Helper()
	l.events(ctx, &agentpb.WatchRequest{}, func(e probes.Event) bool {
		see(e)
		return true
	})
}

// events calls each with events until it returns false or the stream ends.
func (l *Lab) events(ctx context.Context, req *agentpb.WatchRequest, each func(probes.Event) bool) {
	l.tb.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := l.Agent().Watch(ctx, req)
	if err != nil {
		l.tb.Fatal(err)
	}
	for {
		b, err := w.Next()
		if err != nil {
			return
		}
		for _, e := range b.Events {
			if !each(e) {
				return
			}
		}
	}
}
