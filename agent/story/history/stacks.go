package history

import (
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// LastStack returns the last event before a position that has a stack snapshot of a pod, and its frames; nil: there is none.
func (h *History) LastStack(pod, at int) (e probes.Event, frames []wire.Frame) {
	all := h.Pod(pod).Stacks.All
	n := LowerBound(all, at)
	if n == 0 {
		return e, nil
	}
	e, _ = h.Event(all[n-1])
	return e, wire.Stack(&e)
}
