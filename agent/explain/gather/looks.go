package gather

import (
	"context"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/evidence"
)

// findLookedAt notes the pod at which the kubelet looks, while this one waits for that. The story of one pod alone does not show
// it.
func (a *Agent) findLookedAt(ctx context.Context, s *evidence.Story) {
	if s == nil {
		return
	}
	looks := explain.AwaitedLooks(s, time.Now())
	if looks == nil {
		return
	}
	dialed, err := a.Node.Dial(ctx)
	if err != nil {
		return
	}
	c := dialed.Reader()
	defer c.Close()
	if story, err := readHistory(ctx, c, &agentpb.WatchRequest{Steps: looks, Node: true}); err == nil {
		explain.SeeOthers(s, story.History, story.History.End(), looks)
	}
}
