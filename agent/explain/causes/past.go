package causes

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
		args := Args{
			"container": k.Name, "restarts": fmt.Sprint(k.RestartCount), "exit": fmt.Sprint(t.ExitCode), "limit": "its limit", "limitZh": "它的上限",
		}
		id := "ready.endedLately"
		if t.Reason == "OOMKilled" {
			id = "ready.oomKilledLately"
			if spec := c.specOf(k.Name); spec != nil {
				if q, ok := spec.Resources.Limits[corev1.ResourceMemory]; ok {
					args["limit"], args["limitZh"] = q.String(), q.String()
				}
			}
		}
		shown := c.status("status of container "+k.Name, fmt.Sprintf("last ended with exit code %d, %s; restarts: %d", t.ExitCode, t.Reason, k.RestartCount), t.FinishedAt.Time)
		out = append(out, c.found(id, k.Name, args, Certain, t.FinishedAt.Time, shown))
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return b.Since.Compare(a.Since) })
	return out
}
