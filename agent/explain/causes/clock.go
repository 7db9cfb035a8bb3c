package causes

import (
	"time"
)

// The kubelet's back-off of a container that ends again and again.
const (
	crashBase = 10 * time.Second
	crashMax  = 5 * time.Minute
)

// nextTry is when the kubelet tries next to start a container that waits: as the
// agent has seen it, or worked out of how often the container was started; zero: not
// known.
func (c *Case) nextTry(k container) time.Time {
	if c.Story != nil {
		for _, r := range c.Story.Containers {
			if r.Name == k.Name && r.Until.After(c.Now) {
				return r.Until
			}
		}
		if c.Story.Next.After(c.Now) {
			return c.Story.Next
		}
	}
	t := k.LastTerminationState.Terminated
	if w := k.State.Waiting; w == nil || w.Reason != "CrashLoopBackOff" || t == nil || t.FinishedAt.IsZero() {
		return time.Time{}
	}
	return t.FinishedAt.Add(c.backOff(k))
}

// backOff is how long the kubelet waits before it starts a container again: as it says,
// or by how often it has.
func (c *Case) backOff(k container) time.Duration {
	if w := k.State.Waiting; w != nil {
		args := Args{}
		if writtenBackOff.in(w.Message, args) {
			if d, err := time.ParseDuration(args["backOff"]); err == nil {
				return d
			}
		}
	}
	longest := crashMax
	if c.Kubelet != nil && c.Kubelet.Config != nil && c.Kubelet.Config.MaxContainerRestart > 0 {
		longest = c.Kubelet.Config.MaxContainerRestart
	}
	d := crashBase
	for i := int32(1); i < k.RestartCount && d < longest; i++ {
		d *= 2
	}
	return min(d, longest)
}

// writtenBackOff is what the kubelet says of a container that waits.
var writtenBackOff = expr(`^back-off (?P<backOff>\S+) restarting failed container`)
