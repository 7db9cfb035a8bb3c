package gather

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/explain/evidence"
)

// Agents are the agents of several nodes as one source: a pod's story is that of the node that has it.
type Agents struct{ of []*Agent }

// NewAgents returns the agents of nodes as a source. whole is that of Agent.
func NewAgents(nodes []fleet.Node, whole bool) *Agents {
	a := &Agents{}
	for _, n := range nodes {
		a.of = append(a.of, &Agent{Node: n, Whole: whole})
	}
	return a
}

// Names names the source.
func (*Agents) Names() (evidence.Source, string) { return evidence.Agent, "events of the pod" }

// nodePatience is how long one node may take with the story of one pod. It is shorter than the time for the whole source,
// so that a node that hangs does not cost the story that another node has.
const nodePatience = 3 * time.Second

// Look asks all agents at once for the pod's recent story.
func (a *Agents) Look(ctx context.Context, of *Subject) func(*evidence.Snapshot) {
	source, what := a.Names()
	_, fill, err := a.find(ctx, of)
	switch {
	case fill != nil:
		return saw(source, what, fill)
	case err != nil:
		return missed(source, what, err)
	}
	return func(s *evidence.Snapshot) {
		s.Missed(source, what, evidence.Absent, fmt.Sprintf("the agents of the %d nodes have seen nothing of the pod", len(a.of)))
	}
}

// keep returns the pod's story as a trace.
func (a *Agents) keep(ctx context.Context, of *Subject) []File {
	agent, _, err := a.find(ctx, of)
	switch {
	case agent != nil:
		return agent.keep(ctx, of)
	case err == nil:
		err = errors.New("no agent has seen anything of the pod")
	}
	return []File{fileOf(StoryFile, storyIs, nil, err)}
}

// find returns the agent that has the pod's story, and what enters the story into a snapshot; nil if no agent that answers
// has it. Then the error has what the others did not answer for.
func (a *Agents) find(ctx context.Context, of *Subject) (agent *Agent, fill func(*evidence.Snapshot), err error) {
	patience := nodePatience
	if a.of[0].Whole {
		patience = fleet.Patience
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	all := make([]found, len(a.of))
	var asked sync.WaitGroup
	for i := range a.of {
		asked.Go(func() { all[i] = a.ask(within, i, of) })
	}
	asked.Wait()
	var failed []error
	for i := range all {
		if all[i].fill != nil {
			return a.of[i], all[i].fill, nil
		}
		failed = append(failed, all[i].err)
	}
	return nil, nil, errors.Join(failed...)
}

// found is what one agent has of a pod.
type found struct {
	fill func(*evidence.Snapshot)
	err  error // with the name of the node
}

func (a *Agents) ask(ctx context.Context, i int, of *Subject) found {
	fill, _, err := a.of[i].find(ctx, of.Kubelet)
	if err != nil {
		return found{err: fmt.Errorf("%s: %w", a.of[i].Node.Called(), err)}
	}
	return found{fill: fill}
}
