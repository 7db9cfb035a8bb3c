package gather

import (
	"context"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/evidence"
)

// findLookedAt notes the pod at which the kubelet looks, while this one waits for that. The story of one pod alone does not show
// it.
func (a *Agent) findLookedAt(ctx context.Context, s *evidence.Story) {
	if s == nil || s.LookedAt != "" || !goesOn(s, explain.StepNewer) {
		return
	}
	dialed, err := a.Node.Dial(ctx)
	if err != nil {
		return
	}
	c := dialed.Reader()
	defer c.Close()
	w, err := c.Watch(ctx, &agentpb.WatchRequest{Steps: explain.Looks, History: true, OnlyHistory: true})
	if err != nil {
		return
	}
	story, err := readStory(c.About(), w.NextRaw)
	if err != nil {
		return
	}
	if i := explain.LongestLook(story.History, 0, story.History.End()); i != 0 {
		s.LookedAt = story.History.Pod(i).Entity.NamespacedName()
	}
}
