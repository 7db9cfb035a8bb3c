package gather

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// Agent is an agent as a source: what its probes have seen of the pod.
type Agent struct {
	// Node is the way to the agent.
	Node fleet.Node
	// Whole makes the source read the stories of all pods at once. It is for questions about
	// many pods: an agent lets few clients watch at one time.
	Whole bool

	once sync.Once
	all  session
	mu   sync.Mutex // only one at a time works out lives
}

// session is what was read of an agent.
type session struct {
	story explain.Story
	node  string
	err   error
}

// Names names the source.
func (*Agent) Names() (evidence.Source, string) { return evidence.Agent, "events of the pod" }

// Look asks the agent for the pod's recent story.
func (a *Agent) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	source, what := a.Names()
	fill, node, err := a.find(ctx, of.Kubelet)
	switch {
	case err != nil:
		return missed(source, what, err)
	case fill == nil:
		return func(s *evidence.Snapshot) {
			s.Missed(source, what, evidence.Absent, "the agent of node "+node+" has seen nothing of the pod")
		}
	}
	return saw(source, what, fill)
}

// saw returns what enters a story that was found.
func saw(source evidence.Source, what string, fill func(*evidence.Snapshot)) func(*evidence.Snapshot) {
	at := time.Now()
	return func(s *evidence.Snapshot) {
		fill(s)
		s.Saw(source, what, at)
	}
}

// find returns what enters the pod's story into a snapshot; nil: the agent has seen nothing of the pod. It names the node.
func (a *Agent) find(ctx context.Context, name evidence.Name) (fill func(*evidence.Snapshot), node string, err error) {
	read := a.read(ctx, name)
	if read.err != nil {
		return nil, "", read.err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	fill = storyIn(read.story, name, time.Now())
	if fill != nil && !a.Whole {
		var own evidence.Snapshot
		fill(&own)
		a.findAhead(ctx, name, own.Story)
		a.findLookedAt(ctx, own.Story)
	}
	return fill, read.node, nil
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

// read reads the story of a pod, or that of all pods.
func (a *Agent) read(ctx context.Context, name evidence.Name) session {
	if !a.Whole {
		return readAgent(ctx, &a.Node, &agentpb.PodSelector{Namespace: name.Namespace, Name: name.Name, Uid: name.UID})
	}
	a.once.Do(func() { a.all = readAgent(ctx, &a.Node, nil) })
	return a.all
}

// readAgent reads what an agent remembers of the pods that a selector chooses.
func readAgent(ctx context.Context, n *fleet.Node, of *agentpb.PodSelector) session {
	dialed, err := n.Dial(ctx)
	if err != nil {
		return session{err: err}
	}
	c := dialed.Reader()
	defer c.Close()
	story, err := readHistory(ctx, c, &agentpb.WatchRequest{Pods: of})
	if err != nil {
		return session{err: err}
	}
	listed, err := c.Pods(ctx, &agentpb.PodsRequest{Pods: of})
	if err != nil {
		return session{err: err}
	}
	for _, p := range listed.Pods {
		story.Lives.Adopt(story.History.Learn(p.Pod), p)
	}
	return session{story: story, node: c.About().Node}
}

// readHistory reads what an agent remembers of what a request chooses.
func readHistory(ctx context.Context, c *client.Reader, req *agentpb.WatchRequest) (explain.Story, error) {
	req.History, req.OnlyHistory = true, true
	w, err := c.Watch(ctx, req)
	if err != nil {
		return explain.Story{}, err
	}
	return readStory(c.About(), w.NextRaw)
}

// readStory reads batches of events until there are no more. If that fails, the story is
// what came before.
func readStory(info *agentpb.InfoResponse, next func() (*agentpb.Batch, error)) (explain.Story, error) {
	h := history.New(info, probes.MustLoad())
	s := explain.Story{History: h, Lives: life.New(h)}
	for {
		b, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return s, nil
		case err != nil:
			return s, err
		}
		h.Add(b, s.Lives.Apply)
	}
}

// storyIn returns what a session says of a pod at its end; nil: the session does not have the pod.
func storyIn(s explain.Story, name evidence.Name, now time.Time) func(*evidence.Snapshot) {
	for i := s.History.Pods() - 1; i > 0; i-- {
		e := s.History.Pod(i).Entity
		if e.Namespace == name.Namespace && e.Name == name.Name && (name.UID == "" || e.UID == name.UID) {
			var part evidence.Snapshot
			explain.Add(&part, s, i, explain.Position{At: s.History.End(), Now: now.UnixNano() - s.History.Origin()})
			return func(into *evidence.Snapshot) { into.AddStory(part.Story, part.KubeletPod, part.Cluster.Events) }
		}
	}
	return nil
}
