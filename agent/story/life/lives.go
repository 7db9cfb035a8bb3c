package life

import (
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
)

// World has what all pods are doing at a position.
type World struct {
	// At is the position after the last event that the world includes.
	At int
	// Time is the session time of the latest event.
	Time int64
	// Pods are the pods by their places in the history. At the end, pods of which nothing has been seen yet may be
	// missing.
	Pods []Pod
}

func emptyWorld(at int) World { return World{At: at, Pods: []Pod{nothingYet}} }

// Pod returns a pod by its place in the history, for reading only.
func (w *World) Pod(i int) *Pod {
	if i < 0 || i >= len(w.Pods) {
		return &nothingYet
	}
	return &w.Pods[i]
}

func (w *World) pod(i int) *Pod {
	for len(w.Pods) <= i {
		w.Pods = append(w.Pods, nothingYet)
	}
	return &w.Pods[i]
}

func (w *World) restart() {
	for i := range w.Pods {
		p := &w.Pods[i]
		former := p.Former
		p.restart(w.Time)
		if i == 0 {
			p.Former = former // the node is no pod
		}
	}
}

func (w *World) clone() World {
	return World{At: w.At, Time: w.Time, Pods: append([]Pod(nil), w.Pods...)}
}

// Lives has the worlds of a history: the present one, and those before it.
type Lives struct {
	h           *history.History
	now, past   World
	checkpoints []World
	noPast      bool
}

// New makes the lives of a history that has no events yet. It keeps the history from forgetting the events to which
// pods refer now.
func New(h *history.History) *Lives {
	l := &Lives{h: h, now: emptyWorld(0), past: emptyWorld(0)}
	h.Keep(l.refs)
	return l
}

// NewPresent makes lives that know only the present world, for callers that never ask for an earlier one.
func NewPresent(h *history.History) *Lives {
	l := New(h)
	l.noPast = true
	return l
}

// refs returns the positions of the events to which pods refer now.
func (l *Lives) refs() (out []int) {
	for i := range l.now.Pods {
		for _, pos := range l.now.Pods[i].refs() {
			if pos != None {
				out = append(out, pos)
			}
		}
		out = append(out, l.now.Pods[i].blocked...)
	}
	return out
}

// Restart is called when a new epoch of the history begins, before its events.
func (l *Lives) Restart() { l.now.restart() }

// Adopt takes the agent's own state of a pod. The agent has seen all events of the pod; a client may have only the
// end of a long story, which does not show as much, or no event. Adopt takes the verdict only if it is as of the last
// event that is here. It holds until the next one.
func (l *Lives) Adopt(pod int, listed *agentpb.PodState) {
	st, ok := StateNamed(listed.GetState())
	if pod <= 0 || pod >= l.h.Pods() {
		return
	}
	p := l.now.pod(pod)
	p.Former = 0
	from := listed.GetSince().AsTime().UnixNano() - l.h.Origin()
	last := l.h.Pod(pod).Events.Last()
	switch {
	case !ok:
	case last == nil && p.First == 0 && listed.GetSince() != nil:
		p.adopted = verdict{st, from, 0, true}
		p.Phase, p.Ready, p.Deleting = Phase(indexOf(Phases, []byte(listed.GetPhase()))), listed.GetReady(), listed.GetDeleting()
	case last == nil || listed.GetSeq() == 0:
	default:
		if head, ok := l.h.Header(*last); ok && head.Seq == listed.GetSeq() {
			p.adopted = verdict{st, from, p.Last, true}
		}
	}
}

// Known reports whether something is known of a pod: events of it are here, or the agent has said what it does.
func (p *Pod) Known() bool { return p.First != 0 || p.adopted.is }

// Release forgets a pod that the history has released.
func (l *Lives) Release(pod int) {
	all := l.now.Pods
	if pod > 0 && pod < len(all) {
		all[pod] = nothingYet
	}
	if n := l.h.Pods(); n < len(all) {
		l.now.Pods = slices.Delete(all, n, len(all))
	}
	if n := len(l.now.Pods); cap(all) > 4*n+64 {
		l.now.Pods = append([]Pod(nil), l.now.Pods...)
	}
}

// Apply takes the next event of the history.
func (l *Lives) Apply(r *history.Record) {
	l.apply(&l.now, r)
	l.keepCheckpoint()
}

// Now returns the world at the end of the history.
func (l *Lives) Now() *World { return &l.now }

// checkpointEvery is the least number of events between two checkpoints.
const checkpointEvery = 8192

// keepCheckpoint keeps a copy of the world now and then, for At. It does so the more rarely, the more pods there are.
func (l *Lives) keepCheckpoint() {
	if l.noPast {
		return
	}
	last := 0
	if n := len(l.checkpoints); n > 0 {
		last = l.checkpoints[n-1].At
	}
	if l.now.At-last >= max(checkpointEvery, 32*len(l.now.Pods)) {
		l.checkpoints = append(l.checkpoints, l.now.clone())
	}
}

// Forget drops everything that belongs to events before a position.
func (l *Lives) Forget(before int) {
	n := 0
	for n+1 < len(l.checkpoints) && l.checkpoints[n+1].At <= before {
		n++
	}
	l.checkpoints = slices.Delete(l.checkpoints, 0, n)
}

// At returns the world before a position, which is valid until the next call of At. It goes on from the world of its
// last call, or from the last checkpoint before the position.
func (l *Lives) At(at int) *World {
	if at >= l.now.At {
		return &l.now
	}
	from := emptyWorld(l.h.First())
	for i := len(l.checkpoints) - 1; i >= 0; i-- {
		if l.checkpoints[i].At <= at {
			from = l.checkpoints[i]
			break
		}
	}
	if l.past.At > at || l.past.At < from.At {
		l.past = from.clone()
	}
	for l.past.At < at {
		var head wire.Header
		r, ok := l.h.Record(l.past.At, &head)
		if !ok {
			l.past.At++
			continue
		}
		l.apply(&l.past, &r)
	}
	return &l.past
}

// apply takes the next event of a world.
func (l *Lives) apply(w *World, r *history.Record) {
	if r.Epoch.Start == r.Pos && r.Pos > 0 {
		w.restart()
	}
	l.probesChanged(w, r, r.Pos)
	w.At, w.Time = r.Pos+1, max(w.Time, r.Time)
	p := w.pod(r.Pod)
	if p.First == 0 || r.Time < p.First { // a call may be reported late, with its own time
		p.First = r.Time
	}
	p.Last, p.Former = max(p.Last, r.Time), 0
	p.seesTurns, p.reported = r.Knows.Turns, r.Knows.Reports
	switch r.Header.Kind {
	case agentpb.Kind_ENTER:
		if p.seesTurns {
			l.entered(p, r)
		} else {
			l.callBegan(p, r)
		}
	case agentpb.Kind_EXIT:
		if p.seesTurns {
			l.left(p, r)
		} else {
			l.callEnded(p, r)
		}
	case agentpb.Kind_HOLD:
		p.Held, p.HeldAt = r.Span, r.Pos
		p.Holds++
	case agentpb.Kind_RELEASE:
		if p.Holds > 0 {
			p.Holds--
		}
		if p.Holds == 0 || p.Held == r.Span {
			p.Held, p.HeldAt = None, None
		}
	}
	l.probesChanged(w, r, r.Pos+1)
}

// probesChanged handles a change of the probes' states at a position, if there is one. What is known of a pod stays,
// but a call or turn is over if the probe that would see its end works no more.
func (l *Lives) probesChanged(w *World, r *history.Record, at int) {
	knows, is := r.Epoch.ProbesChanged(at)
	if !is {
		return
	}
	for i := range w.Pods {
		p := &w.Pods[i]
		if p.First == 0 || p.Former != 0 {
			continue
		}
		if p.seesTurns && !knows.Turns {
			p.loseTurn()
		}
		p.seesTurns, p.reported, p.adopted = knows.Turns, knows.Reports, verdict{}
		if sp := l.h.Span(p.At); sp != nil && sp.Shape == history.NoExit && sp.Over(at) {
			p.At, p.Since, p.Turning = None, r.Time, false
		}
	}
}
