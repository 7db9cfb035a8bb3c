package causes

import (
	"cmp"
	"slices"
	"time"
)

// lately is for how long the bad end of a container is worth a word after the pod runs again.
const lately = 10 * time.Minute

// endedLately finds that containers of a pod with which nothing is wrong any more have ended badly not long ago. The
// last end comes first.
func (c *Case) endedLately() (out []Finding) {
	for _, k := range c.containers() {
		t := k.LastTerminationState.Terminated
		if k.State.Running == nil || t == nil || t.ExitCode == 0 || c.Now.Sub(t.FinishedAt.Time) > lately {
			continue
		}
		id, args := "ready.endedLately", c.endArgs(k, t)
		if t.Reason == "OOMKilled" {
			id = "ready.oomKilledLately"
			args["limit"], args["limitZh"] = cmp.Or(args["limit"], "none"), cmp.Or(args["limit"], "无")
		}
		out = append(out, c.found(id, k.Name, args, Certain, t.FinishedAt.Time, c.ended(k, t)))
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return b.Since.Compare(a.Since) })
	return out
}
