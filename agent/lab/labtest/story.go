package labtest

import (
	"context"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Story is what the flight recorder remembers of the pods with that name.
func (l *Lab) Story(pod string) []probes.Event {
	l.tb.Helper()
	var out []probes.Event
	l.events(l.Context(), &agentpb.WatchRequest{Pods: &agentpb.PodSelector{Name: pod}, OnlyHistory: true}, func(e probes.Event) bool {
		out = append(out, e)
		return true
	})
	return out
}

// Recorded is all that the flight recorder remembers, of the node too.
func (l *Lab) Recorded() []probes.Event {
	l.tb.Helper()
	var out []probes.Event
	l.events(l.Context(), &agentpb.WatchRequest{OnlyHistory: true, Node: true}, func(e probes.Event) bool {
		out = append(out, e)
		return true
	})
	return out
}

// UntilEvent follows a pod's story, from its beginning, until is says so, and
// returns all of it up to there.
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
		l.tb.Fatalf("the story of %s has no %s in %d events", pod, what, len(out))
	}
	return out
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
