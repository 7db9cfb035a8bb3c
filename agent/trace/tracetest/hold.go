package tracetest

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
)

// held says which pods of a crowd are held, and how many more are to be held.
type held struct {
	step  string
	more  int // how many more are to be held
	lease time.Duration
	by    map[uint32]*agentpb.HoldInfo // by the pod's number
}

// Hold holds the next n pods that come to a step before it, as a breakpoint would. None of them does anything from then
// on.
func (c *Crowd) Hold(n int, step string, lease time.Duration) {
	c.holding = held{step: step, more: n, lease: lease, by: map[uint32]*agentpb.HoldInfo{}}
}

// Held returns the holds that have begun, with the leases that they began with.
func (c *Crowd) Held() (all []*agentpb.HoldInfo) {
	for _, h := range c.holding.by {
		all = append(all, h)
	}
	return all
}

func (c *Crowd) isHeld(t *replica, e *agentpb.Event) bool {
	return e.Pod != 0 && c.holding.by[e.Pod+uint32(t.pods)] != nil
}

func (h *held) wants(info *agentpb.InfoResponse, e *agentpb.Event) bool {
	return h.more > 0 && e.Kind == agentpb.Kind_ENTER && e.Pod != 0 && info.Steps[e.Step-1].Name == h.step
}

// hold begins the hold of the pod that has come to the call which e enters.
func (c *Crowd) hold(t *replica, e *agentpb.Event, at int64) *agentpb.Event {
	out := c.event(t, e, at)
	out.Kind = agentpb.Kind_HOLD
	out.Fields = []*agentpb.Field{
		{Name: "on", Value: &agentpb.Field_Text{Text: "enter"}},
		{Name: "why", Value: &agentpb.Field_Text{Text: "breakpoint 1"}},
		{Name: "lease", Value: &agentpb.Field_Duration{Duration: int64(c.holding.lease)}},
		{Name: "ends", Value: &agentpb.Field_Duration{Duration: int64(c.holding.lease)}},
		{Name: "endsBy", Value: &agentpb.Field_Text{Text: agentpb.EndsByLease}},
	}
	c.holding.more--
	c.holding.by[out.Pod] = &agentpb.HoldInfo{
		Id: uint32(len(c.holding.by) + 1), Pod: t.pod(c.pods[e.Pod]), Step: c.holding.step, On: "enter", Since: timestamppb.New(time.Unix(0, out.Time)),
		Lease: durationpb.New(c.holding.lease), Ends: durationpb.New(c.holding.lease), EndsBy: agentpb.EndsByLease,
		Cause: agentpb.Cause_CAUSE_BREAKPOINT, Breakpoint: 1, Seq: out.Seq,
	}
	return out
}
