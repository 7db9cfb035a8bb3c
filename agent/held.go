package agent

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/server"
)

// heldQuery says which of the holds a request means. The zero value means all.
type heldQuery struct {
	pods  *pods.Selector
	steps map[int]bool // ids; nil: all
	uid   *uint32      // of the asker; nil: any
	user  string       // with uid: the name that the asker gave
}

func (a *Agent) newHeldQuery(which *agentpb.PodSelector, step string, uid *uint32, user string) (heldQuery, error) {
	q := heldQuery{uid: uid, user: user}
	var err error
	if q.pods, err = pods.NewSelector(which); err != nil || step == "" {
		return q, err
	}
	ids, err := a.matchSteps(step)
	q.steps = map[int]bool{}
	for _, id := range ids {
		q.steps[id] = true
	}
	return q, err
}

// meansHold reports whether the query means a hold.
func (q *heldQuery) meansHold(h *hold) bool {
	return q.meansAsked(h.Pod.Pod, h.Asked) && (q.steps == nil || q.steps[h.Step.ID])
}

// meansAsked is meansHold for what is at no step yet.
func (q *heldQuery) meansAsked(p *pods.Pod, by server.Asker) bool {
	return (q.pods == nil || p.Is(q.pods)) && (q.uid == nil || by.IsUser(*q.uid, q.user))
}

// releaseHeld lets the pods go that a query means, and takes back the pending holds that it means: those are at no step
// yet, so a query of steps means none of them.
func (a *Agent) releaseHeld(q heldQuery, reason string, by server.Peer) []*hold {
	if q.steps == nil {
		for _, p := range a.pods.All() {
			if w := p.State.holding.Pending(); w != nil && q.meansAsked(&p.Pod, w.Asked) {
				a.holds.Drop(&p.State.holding, reason)
			}
		}
	}
	var out []*hold
	for _, h := range a.holds.Of(nil) {
		if q.meansHold(h) {
			h.ReleaseBy(reason, by)
			out = append(out, h)
		}
	}
	return out
}
