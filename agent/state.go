package agent

import (
	"sort"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
)

// sortStates sorts pods by their state, worst first, then by name.
func sortStates(s []*agentpb.PodState) {
	sort.Slice(s, func(i, j int) bool {
		a, _ := life.StateNamed(s[i].State)
		if b, _ := life.StateNamed(s[j].State); a != b {
			return a < b
		}
		if a, b := s[i].Pod.Namespace, s[j].Pod.Namespace; a != b {
			return a < b
		}
		return s[i].Pod.Name < s[j].Pod.Name
	})
}

// stats fills in what the journal and the recorder know.
func (j *journal) stats(out *agentpb.StatsResponse) {
	j.mu.Lock()
	out.Events = j.seq
	out.Dropped = map[string]uint64{}
	for k, n := range j.lost {
		out.Dropped[k] = n
	}
	j.mu.Unlock()
	j.out.Lock()
	defer j.out.Unlock()
	r := j.recorder
	out.RecorderBytes, out.RecorderLimit, out.RecorderEvents, out.FoldedSyncs = r.bytes, r.limit, r.events, r.folded
	out.Subscribers = int32(len(j.watchers))
}
