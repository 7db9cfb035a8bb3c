package far

import (
	"context"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
)

// settles is how long a pod of podstep may have nobody who is connected, after it was made, and reachWithin how long one
// that runs may take to answer.
const (
	settles     = 2 * time.Minute
	reachWithin = 10 * time.Second
)

// RemoveOrphans removes the pods that an owner's podstep made for a while and could not remove: those that have ended, and
// those that run and nobody is connected to. It returns them. Pods that cannot be asked stay: somebody may use them, and
// their deadline ends them.
func (c *Cluster) RemoveOrphans(ctx context.Context, owner string) (removed []Agent, err error) {
	all, err := c.list(ctx, temporaryLabel, "")
	if err != nil || owner == "" {
		return nil, err
	}
	for i := range all {
		a := &all[i]
		if a.Owner != owner || !c.isOrphan(ctx, a) {
			continue
		}
		if err := c.Remove(ctx, a); err != nil {
			return removed, err
		}
		removed = append(removed, *a)
	}
	return removed, nil
}

func (c *Cluster) isOrphan(ctx context.Context, a *Agent) bool {
	switch {
	case a.leaving:
		return false
	case a.ended:
		return true
	}
	return a.Ready && time.Since(a.made) > settles && c.unused(ctx, a)
}

// unused reports whether an agent has no other client than this podstep, by its own count.
func (c *Cluster) unused(ctx context.Context, a *Agent) bool {
	ctx, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	conn, err := client.ReachReader(ctx, c.InPod(a))
	if err != nil {
		return false
	}
	defer conn.Close()
	stats, err := conn.Stats(ctx, &agentpb.StatsRequest{})
	return err == nil && stats.Connections <= 1
}
