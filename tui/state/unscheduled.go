package state

import (
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// SetUnscheduled sets the pods that have no node, and why. The screen lists them among those of the node, until they
// have one.
func (s *State) SetUnscheduled(all []*causes.Report) {
	s.version++
	s.unscheduled = make(map[string]*causes.Report, len(all))
	for _, r := range all {
		if r.Pod.UID == "" {
			continue
		}
		p := probes.Pod{Namespace: words.Clean(r.Pod.Namespace), Name: words.Clean(r.Pod.Name), UID: words.Clean(r.Pod.UID)}
		s.h.Meet(p)
		s.unscheduled[p.UID] = r
	}
}

// withoutNode returns what is known of a pod that has no node; nil if the pod has one, or podstep does not know that
// it has none.
func (s *State) withoutNode(i int, p *life.Pod, v *view) *causes.Report {
	if i == 0 || p.First != 0 || v.at != s.h.End() {
		return nil
	}
	return s.unscheduled[s.podAt(i).Entity.UID]
}

// verdictOf returns the state of a pod, and since when the pod has been in it.
func (s *State) verdictOf(i int, v *view) (life.State, int64) {
	r := s.withoutNode(i, v.pod(i), v)
	if r == nil {
		return s.lives.StateAt(v.w, i, v.now)
	}
	return r.State, r.Since.UnixNano() - s.h.Origin()
}

// noNodeWord stands in the place of the state, for a pod that has no node.
var noNodeWord = words.Text("no node", "无节点")
