package agent

import (
	"sort"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
)

// stuckAfter is how long one step may take before a pod counts as stuck.
const stuckAfter = time.Minute

// state tells what a pod is doing. nil: it is gone.
func (a *Agent) state(p *pod) *agentpb.PodState {
	seq := a.journal.lastOf(p) // first: all up to it is in what is read below
	var holds []*agentpb.HoldInfo
	held, _ := a.holds.list(a, p)
	for _, h := range held {
		holds = append(holds, h.proto())
	}
	w := &p.where
	step := w.step.Load()
	if p.ident.Load() == nil || step == nil || (w.removed.Load() && !w.worker.Load() && len(holds) == 0) {
		return nil
	}
	out := &agentpb.PodState{
		Pod: p.proto(), Phase: stringOf(&p.phase), State: w.state(len(holds) > 0), Stage: step.Stage, Step: step.Name,
		Since: timestamppb.New(time.Unix(0, w.since.Load())), Holds: holds, Error: stringOf(&w.err),
		Sync: p.sync.Load(), Deleting: w.deleting.Load(), Seq: seq,
	}
	if n := len(holds); n > 0 {
		// The sync loop may be held about a pod whose worker is elsewhere.
		h := holds[n-1]
		out.Stage, out.Step, out.Since = h.Stage, h.Step, h.Since
	}
	if m := p.meta.Load(); m != nil {
		out.Ready = m.ready
	}
	return out
}

func stringOf(p *atomic.Pointer[string]) string {
	if s := p.Load(); s != nil {
		return *s
	}
	return ""
}

// state is the word for it: held by a person, working through its steps,
// waiting for its next turn, stuck at a step or in a row of failures, or done.
func (w *podWhere) state(held bool) string {
	switch working := w.working.Load() || w.calls.Load() > 0; {
	case held:
		return "held"
	case w.finished.Load():
		return "done"
	case working && time.Since(time.Unix(0, w.since.Load())) > stuckAfter:
		return "stuck"
	case working:
		return "working"
	case stringOf(&w.err) != "":
		return "stuck"
	}
	return "waiting"
}

var worstFirst = map[string]int{"stuck": 0, "held": 1, "working": 2, "waiting": 3, "done": 4}

func sortStates(s []*agentpb.PodState) {
	sort.Slice(s, func(i, j int) bool {
		if a, b := worstFirst[s[i].State], worstFirst[s[j].State]; a != b {
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
