package causes

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
)

// forgetPast leaves calls out of the story that failed for a container before it last started. A pull that failed is
// past when the container runs, though no pull has gone well since: the image came onto the node in another way.
func (c *Case) forgetPast() {
	if c.Story == nil {
		return
	}
	snapshot, story := *c.Snapshot, *c.Story
	story.Failed = slices.DeleteFunc(slices.Clone(story.Failed), func(k evidence.Call) bool {
		name := c.containerOf(&k)
		return name != "" && k.Ended.Before(c.lastStartOf(name))
	})
	snapshot.Story = &story
	c.Snapshot = &snapshot
}

// lastStartOf returns when the program of a container last began to run, to the second where the API server has it;
// zero: it never ran, or nothing shows it.
func (c *Case) lastStartOf(name string) (at time.Time) {
	for _, k := range c.containers() {
		if k.Name != name {
			continue
		}
		for _, s := range []*corev1.ContainerState{&k.State, &k.LastTerminationState} {
			if neverRan(s.Terminated) {
				*s = corev1.ContainerState{}
			}
		}
		at, _ = lastStart([]corev1.ContainerStatus{k.ContainerStatus})
	}
	for i := range c.Story.Done {
		if k := &c.Story.Done[i]; isCallOf(k, ofRole(probes.RoleStart)) && c.containerOf(k) == name {
			at = latest(at, k.Began)
		}
	}
	return at
}

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
