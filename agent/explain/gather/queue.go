package gather

import (
	"context"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
)

// The steps of a pull: the pod's worker waits for it, and a puller makes the call.
const (
	stepPullWait = "image.pull"
	stepPullCall = "cri.PullImage"
)

// maxAhead bounds how many other pods are asked about.
const maxAhead = 8

// findAhead notes the pod whose image is being pulled while this one's pull waits: the kubelet
// pulls one image after another unless its settings differ. The story of one pod alone does not
// show that.
func (a *Agent) findAhead(ctx context.Context, name evidence.Name, s *evidence.Story) {
	if s == nil || s.Behind != "" || !maybeQueued(s) {
		return
	}
	for _, other := range a.pulling(ctx, name) {
		read := readAgent(ctx, &a.Node, &agentpb.PodSelector{Namespace: other.Namespace, Name: other.Name, Uid: other.UID})
		if read.err != nil {
			return
		}
		var part evidence.Snapshot
		if fill := storyIn(read.story, other, time.Now()); fill != nil {
			fill(&part)
		}
		if part.Story != nil && goesOn(part.Story, stepPullCall) {
			s.Behind = other.String()
			return
		}
	}
}

// pulling returns other pods that wait for a pull, or whose image is being pulled, at most maxAhead.
func (a *Agent) pulling(ctx context.Context, name evidence.Name) (out []evidence.Name) {
	c, err := a.Node.Dial(ctx)
	if err != nil {
		return nil
	}
	defer c.Close()
	listed, err := c.Pods(ctx, &agentpb.PodsRequest{})
	if err != nil {
		return nil
	}
	for _, p := range listed.Pods {
		other := evidence.Name{Namespace: p.GetPod().GetNamespace(), Name: p.GetPod().GetName(), UID: p.GetPod().GetUid()}
		if (p.Step == stepPullWait || p.Step == stepPullCall) && other.String() != name.String() && len(out) < maxAhead {
			out = append(out, other)
		}
	}
	return out
}

// maybeQueued reports whether a pod may wait for another's pull: the runtime is not pulling for
// it and has not pulled since its worker waits, and the worker is seen to wait, or is not seen at all.
func maybeQueued(s *evidence.Story) bool {
	return s.Calls && !goesOn(s, stepPullCall) && !hasPulled(s) && (goesOn(s, stepPullWait) || !s.Turns)
}

// hasPulled reports whether the runtime has ended a pull for which the pod's worker still waits: the kubelet then asks for
// the image's size.
func hasPulled(s *evidence.Story) bool {
	return slices.ContainsFunc(s.Open, func(wait evidence.Call) bool {
		return wait.Step == stepPullWait && slices.ContainsFunc(s.Done, func(pull evidence.Call) bool {
			return pull.Step == stepPullCall && !pull.Began.Before(wait.Began)
		})
	})
}

func goesOn(s *evidence.Story, step string) bool {
	return slices.ContainsFunc(s.Open, func(k evidence.Call) bool { return k.Step == step })
}
