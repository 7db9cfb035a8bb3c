package agentpb

import (
	"fmt"
	"path"
	"time"
)

// Inside is the value of HoldInfo.on, and of the field "on" of events, for a pod that is held at a line inside of a
// step. The event's fields "line" and "function" name the line.
const Inside = "inside"

// Written returns the place as people write it, such as kubelet.go:1790; empty if it is not known.
func (f *StackFrame) Written() string {
	if f.GetFile() == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", path.Base(f.GetFile()), f.GetLine())
}

// End returns after what time, counted from the agent's answer, the agent lets the pod go by itself. timer is the timer
// of the kubelet because of which it does; "" if it does so because of the lease.
func (h *HoldInfo) End() (in time.Duration, timer string) {
	if by := h.GetEndsBy(); by != EndsByLease {
		timer = by
	}
	return h.GetEnds().AsDuration(), timer
}
