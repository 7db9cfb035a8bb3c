package wire

import (
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
)

// Hold reads what the encoded event of a hold's beginning says of it: where in the call, lease, budget, end, the
// process that asked, and its message. Times count from the event. The rest of the HoldInfo is empty.
func Hold(raw []byte) *agentpb.HoldInfo {
	h := &agentpb.HoldInfo{
		On: Lookup(raw, "on").String(), Lease: durationOf(raw, "lease"), Ends: durationOf(raw, "ends"), EndsBy: Lookup(raw, "endsBy").String(),
		Message: Lookup(raw, "message").String(),
	}
	if left := durationOf(raw, "budget"); left != nil {
		h.Budget = &agentpb.Budget{Left: left, Timer: Lookup(raw, "timer").String()}
	}
	if h.Ends == nil { // a trace may be from before events had the end: it is the sooner of lease and budget
		h.Ends, h.EndsBy = h.Lease, agentpb.EndsByLease
		if b := h.Budget; b != nil && b.Left.AsDuration() < h.Lease.AsDuration() {
			h.Ends, h.EndsBy = b.Left, b.Timer
		}
	}
	uid, pid := Lookup(raw, "uid"), Lookup(raw, "pid")
	if uid.Kind == NumberValue && pid.Kind == NumberValue {
		h.Peer = &agentpb.Peer{
			Uid: uint32(uid.Num), Pid: int32(pid.Num),
			Account: Lookup(raw, "account").String(), User: Lookup(raw, "user").String(), Credential: Lookup(raw, "credential").String(),
		}
	}
	return h
}

// durationOf returns a field of an event; nil if there is no such field, or it is no duration.
func durationOf(raw []byte, name string) *durationpb.Duration {
	if d, ok := Lookup(raw, name).Duration(); ok {
		return durationpb.New(d)
	}
	return nil
}
