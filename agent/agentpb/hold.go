package agentpb

import "time"

// End tells in what time, from when the agent answered, it lets the pod go by
// itself. timer is the timer of the kubelet before which that is; "" if the lease
// ends sooner. Agents before v0.2 tell only what is left of lease and budget.
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
