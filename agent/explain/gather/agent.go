package gather

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// Agent is an agent as a source: what its probes have seen of the pod.
type Agent struct {
	// Socket is the agent's.
	Socket string
}

// Names names the source.
func (*Agent) Names() (evidence.Source, string) { return evidence.Agent, "events of the pod" }

// Look asks the agent for the pod's recent story.
func (a *Agent) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	source, what := a.Names()
	c, err := client.Dial(ctx, a.Socket)
	if err != nil {
		return missed(source, what, err)
	}
	defer c.Close()
	story, err := storyOf(ctx, c, of.Kubelet)
	switch {
	case err != nil:
		return missed(source, what, err)
	case story == nil:
		return func(s *evidence.Snapshot) {
			s.Missed(source, what, evidence.Absent, "the agent of node "+c.About().Node+" has seen nothing of the pod")
		}
	}
	at := time.Now()
	return func(s *evidence.Snapshot) {
		s.Story = story
		s.Saw(source, what, at)
	}
}

func missed(source evidence.Source, what string, err error) func(*evidence.Snapshot) {
	code, message := WhyNot(err)
	switch client.KindOf(err) {
	case client.NoAgent:
		code = evidence.Absent
	case client.Denied:
		code = evidence.Forbidden
	}
	return func(s *evidence.Snapshot) { s.Missed(source, what, code, message) }
}

// storyOf reads the story of a pod from an agent; nil: the agent does not know it.
func storyOf(ctx context.Context, c *client.Client, name evidence.Name) (*evidence.Story, error) {
	sel := &agentpb.PodSelector{Namespace: name.Namespace, Name: name.Name, Uid: name.UID}
	w, err := c.Watch(ctx, &agentpb.WatchRequest{Pods: sel, History: true, OnlyHistory: true})
	if err != nil {
		return nil, err
	}
	h := history.New(c.About(), probes.MustLoad())
	lives := life.New(h)
	for {
		b, err := w.NextRaw()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		h.Add(b, lives.Apply)
	}
	listed, err := c.Pods(ctx, &agentpb.PodsRequest{Pods: sel})
	if err != nil {
		return nil, err
	}
	for _, p := range listed.Pods {
		lives.Adopt(h.Learn(p.Pod), p)
	}
	return storyIn(explain.Story{History: h, Lives: lives}, name, time.Now()), nil
}

// storyIn is what a session says of a pod at its end; nil: it does not have it.
func storyIn(s explain.Story, name evidence.Name, now time.Time) *evidence.Story {
	for i := s.History.Pods() - 1; i > 0; i-- {
		e := s.History.Pod(i).Entity
		if e.Namespace == name.Namespace && e.Name == name.Name && (name.UID == "" || e.UID == name.UID) {
			return explain.Seen(s, i, explain.Position{At: s.History.End(), Now: now.UnixNano() - s.History.Origin()})
		}
	}
	return nil
}
