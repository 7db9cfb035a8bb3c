package agentpb

import (
	"fmt"
	"path"
	"time"
)

// Inside is HoldInfo.on, and the field "on" of events, of a pod that is held at a line inside
// of a step. The event's fields "line" and "function" have which one.
const Inside = "inside"

// Written is the place as people write it, such as kubelet.go:1790; empty if it is not known.
func (f *StackFrame) Written() string {
	if f.GetFile() == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(f.GetFile()), f.GetLine())
}

// End returns in what time, from when the agent answered, it lets the pod go by
// itself. timer is the timer of the kubelet before which that is; "" if the lease
// ends sooner. Agents before v0.2 send only what is left of lease and budget.
func (h *HoldInfo) End() (in time.Duration, timer string) {
	switch lease, budget := h.GetLease().AsDuration(), h.GetBudget(); {
	case h.GetEnds() != nil && h.GetEndsBy() == EndsByLease:
		return h.GetEnds().AsDuration(), ""
	case h.GetEnds() != nil:
		return h.GetEnds().AsDuration(), h.GetEndsBy()
	case budget != nil && budget.GetLeft().AsDuration() < lease:
		return budget.GetLeft().AsDuration(), budget.GetTimer()
	default:
		return lease, ""
	}
}
