package state

import (
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// unscheduled is a pod that has no node, as the API server has it.
type unscheduled struct {
	created time.Time
	// cause is what keeps it; nil: it has only just been created.
	cause *causes.Finding
}

// SetUnscheduled sets which pods have no node. They are on the screen, below those of
// the node, until they have one.
func (s *State) SetUnscheduled(all []*evidence.Snapshot) {
	s.version++
	s.unscheduled = make(map[string]*unscheduled, len(all))
	for _, one := range all {
		p := one.Pod
		if p == nil || p.UID == "" {
			continue
		}
		s.h.Meet(probes.Pod{Namespace: words.Clean(p.Namespace), Name: words.Clean(p.Name), UID: words.Clean(string(p.UID))})
		u := &unscheduled{created: p.CreationTimestamp.Time}
		if r := causes.Explain(one); r.Wrong() {
			u.cause = &r.Findings[0]
		}
		s.unscheduled[words.Clean(string(p.UID))] = u
	}
}

// withoutNode is what is known of a pod that has no node; nil: it has one, or is not
// known to have none.
func (s *State) withoutNode(i int, p *life.Pod, v *view) *unscheduled {
	if i == 0 || p.First != 0 || v.at != s.h.End() {
		return nil
	}
	return s.unscheduled[s.of(i).Entity.UID]
}

// verdictOf is the state of a pod, and since when.
func (s *State) verdictOf(i int, v *view) (life.State, int64) {
	u := s.withoutNode(i, v.pod(i), v)
	if u == nil {
		return s.lives.StateAt(v.w, i, v.now)
	}
	since := u.created.UnixNano() - s.h.Origin()
	if u.cause != nil {
		return life.Stuck, since
	}
	return life.Waiting, since
}

// noNodeWord stands where the state of a pod does that has no node.
var noNodeWord = words.Text("no node", "无节点")
