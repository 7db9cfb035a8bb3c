package main

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/explain/gather"
	"github.com/podstep/podstep/probes/words"
)

// unscheduledWithin is how long podstep pods waits for the API server. The agent's answer is there already.
const unscheduledWithin = 2 * time.Second

// noNodeStep stands in the place of the step, for a pod that has no node.
const noNodeStep = "no node"

// unscheduled returns the pods that have no node and that a selector chooses, if an API server can be asked. No agent
// knows them.
func (a *app) unscheduled(ctx context.Context, sel *agentpb.PodSelector) []*agentpb.PodState {
	g := a.gatherer()
	if g == nil || len(sel.GetLabels()) > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, unscheduledWithin)
	defer cancel()
	found, err := g.Unscheduled(ctx)
	if err != nil {
		_, why := gather.WhyNot(err)
		a.printf("pods without a node are not listed: %s", why)
		return nil
	}
	return unscheduledStates(found, sel)
}

// unscheduledStates returns the states of pods without a node, as the agent gives those of others.
func unscheduledStates(found []*evidence.Snapshot, sel *agentpb.PodSelector) (out []*agentpb.PodState) {
	for _, s := range found {
		if !sel.Selects(s.Name.Namespace, s.Name.Name) || sel.GetUid() != "" && sel.GetUid() != s.Name.UID {
			continue
		}
		r := causes.Explain(s)
		p := &agentpb.PodState{
			Pod:   &agentpb.Pod{Namespace: words.Clean(s.Name.Namespace), Name: words.Clean(s.Name.Name), Uid: words.Clean(s.Name.UID)},
			Phase: string(s.Pod.Status.Phase), State: r.Word(), Step: noNodeStep, Since: timestamppb.New(r.Since),
		}
		if len(r.Findings) > 0 {
			p.Error = words.OneLine(r.Findings[0].Sentence(words.English))
		}
		out = append(out, p)
	}
	return out
}
