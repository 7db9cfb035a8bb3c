package agent

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/callsite"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

const (
	// Fields that the agent reads, by name. The catalogue makes sure that steps of
	// the roles that it reads them of have them.
	fieldWaitsKill = "waitsForKill"

	// The goroutines of the catalogue that the agent knows.
	roleWorker   = "worker"
	roleKill     = "kill"
	roleOther    = "other"
	roleSyncLoop = "syncloop"
	roleMux      = "mux"
	rolePuller   = "puller"
)

// Enter is called by the hook, on the kubelet's goroutine.
func (a *Agent) Enter(id int, cur *hook.Span, values hook.Values) (*hook.Span, error) {
	if id < 0 || id >= len(a.steps) {
		return nil, nil
	}
	step := &a.steps[id]
	s := newSpan(step)
	s.wall, s.start = a.now()
	a.findGoroutine(s, spanOf(cur), hook.Goroutine())
	// Of each step, also of those that the names in the source lead to from one line alone: of
	// calls through an interface or a function's value they lead to none, or to another one.
	if up := s.parent; up != nil && up.goroutine == s.goroutine {
		s.line = callsite.Line(up.step.Symbol)
	}
	var t taker
	t.atEnter(a, s)
	hook.Eval(values, &t)
	s.Init(a.enterPods(s, &t), s)
	if step.keeps {
		t.save()
	}
	if step.means == probes.RoleWorker && s.proven {
		s.worker = s.only()
	}
	a.startTimers(s)
	p := s.only()
	if p != nil && step.means == probes.RoleTurn {
		p.State.sync.Add(1)
	}
	if s.late {
		if p == nil {
			return &s.Span, nil
		}
		// Whoever stops the pod here wants to see the call, whatever comes of it.
		if !t.keep() {
			return &s.Span, nil
		}
		return &s.Span, a.stop(s, &s.one, enter, "")
	}
	if s.many != nil {
		parts := s.parts()
		for _, ps := range parts {
			a.putNew(s, ps, t.wire)
		}
		a.followMany(s)
		if !t.keep() {
			return &s.Span, nil
		}
		return &s.Span, a.stopMany(s, parts, enter, "")
	}
	if s.one.id != 0 {
		a.putNew(s, &s.one, t.wire)
	}
	if p == nil {
		return &s.Span, nil
	}
	a.follow(s, p)
	if !t.keep() {
		return &s.Span, nil
	}
	return &s.Span, a.stop(s, &s.one, enter, "")
}

// enterPods finds the pods of a call as it begins, and its profiler labels.
func (a *Agent) enterPods(s *span, t *taker) []hook.Label {
	switch s.step.Pod.Kind {
	case probes.PodUpdates:
		s.many = &podSpans{}
		return pods.NodeLabels
	case probes.PodList, probes.PodObjects:
		s.many = &podSpans{}
		for _, o := range t.list {
			ps := newPodSpan(o.Pod, &a.spanIDs)
			ps.object = o.UID
			s.many.all = append(s.many.all, ps)
		}
		return pods.NodeLabels
	}
	p := t.pod
	if p == nil && s.step.Pod.Kind != probes.PodNone {
		p = s.parent.inherited()
	}
	if p == nil && s.step.Pod.Kind == probes.PodInherit {
		return pods.NodeLabels // somebody else's call of what pods call too
	}
	s.one.pod, s.one.id = p, a.spanIDs.Add(1)
	if p == nil {
		return pods.NodeLabels
	}
	s.one.updates = p.State.updates.Load()
	return p.ProfilerLabels()
}

// putEnter publishes the enter event of a call in one pod's story, once, after
// those of the calls it happens in. It returns false for a call that has ended
// without a word. The lock is held until the event is out, so that neither what
// happens in the call nor its exit comes before it.
func (a *Agent) putEnter(s *span, ps *podSpan) bool {
	if ps.emitted.Load() {
		return true
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if !ps.emitted.Load() && !ps.over {
		a.putNew(s, ps, s.fields())
	}
	return ps.emitted.Load()
}

// putNew is putEnter for a call that nobody else knows of yet.
func (a *Agent) putNew(s *span, ps *podSpan, shown fieldBytes) {
	ps.parent = a.parentID(s, ps.pod)
	e := event{kind: agentpb.Kind_ENTER, wall: s.wall, mono: s.start, parent: ps.parent}
	if s.parent.is(ps.pod, ps.parent) {
		e.line = s.line
	}
	a.putWire(s, ps, &e, shown)
	ps.emitted.Store(true)
}

// is reports whether a call has an id in the story of p.
func (s *span) is(p *pod, id uint64) bool {
	if s == nil || id == 0 {
		return false
	}
	ps := s.part(p)
	return ps != nil && ps.id == id
}

// parentID is the id, in the story of p, of the call that s happens in. Calls
// whose enter is late publish it now. A call about other pods is no parent, nor is
// one that ended without a word.
func (a *Agent) parentID(s *span, p *pod) uint64 {
	for up := s.parent; up != nil; up = up.parent {
		ps := up.part(p)
		if ps == nil && p != nil && up.step.Pod.Kind == probes.PodUpdates {
			ps = up.add(p, &a.spanIDs)
		}
		if ps != nil && a.putEnter(up, ps) {
			return ps.id
		}
	}
	return 0
}

// put fills in what all events of a call share, and queues the event.
// It returns the event's number; 0 if it is dropped.
func (a *Agent) put(s *span, ps *podSpan, parent uint64, e event) uint64 {
	e.parent = parent
	return a.putWire(s, ps, &e, nil)
}

// putWire is put for an event that knows its parent and has more fields, which
// are copied.
func (a *Agent) putWire(s *span, ps *podSpan, e *event, more fieldBytes) uint64 {
	e.step = uint32(s.step.ID) + 1
	e.pod, e.span, e.role, e.probe = ps.pod, ps.id, s.role, s.mark()
	if ps.pod != nil {
		e.sync = ps.pod.State.sync.Load()
	}
	return a.journal.putWire(e, more)
}

// Leave is called by the hook when the function is left.
func (a *Agent) Leave(hs *hook.Span, how hook.Outcome, err error, values hook.Values) {
	s := spanOf(hs)
	if s == nil {
		return
	}
	s.ended.Store(true)
	a.endTimers(s)
	end := ending{how: how, err: outcome(how, err)}
	if s.endIdle(end) {
		return
	}
	var t taker
	t.atExit(a, s, how)
	hook.Eval(values, &t)
	if t.quiet {
		return
	}
	end.wall, end.mono = a.now()
	if a.leave(s, end, &t) && !s.fault && t.keep() {
		// A fault at exit would change what was done; only enter has them.
		_ = a.stop(s, &s.one, exit, end.err)
	}
}

// ending is how and when a call ended.
type ending struct {
	how        hook.Outcome
	err        string // its error as text
	wall, mono int64
}

// leave reports that a call has ended. It returns whether the call is about one
// pod, which may now be stopped.
func (a *Agent) leave(s *span, end ending, t *taker) bool {
	last := event{kind: agentpb.Kind_EXIT, wall: end.wall, mono: end.mono, err: end.err, duration: end.mono - s.start}
	if s.many != nil {
		a.leaveMany(s, t, &last)
		return false
	}
	if p := t.pod; p != nil && !s.one.emitted.Load() {
		s.one.pod, s.one.id = p, a.spanIDs.Add(1)
	}
	if s.one.id == 0 {
		return false
	}
	a.putEnter(s, &s.one)
	last.parent = s.one.parent
	a.putWire(s, &s.one, &last, t.wire)
	p := s.one.pod
	if p != nil {
		a.learnID(p, t)
		a.unfollow(s, p)
	}
	return p != nil
}

// outcome is the error with which a call ended, as text.
func outcome(how hook.Outcome, err error) string {
	switch {
	case how == hook.Panicked:
		return "panic"
	case how == hook.Exited:
		return "the goroutine exited"
	case err != nil:
		return values.Error(err)
	}
	return ""
}

// endIdle ends a call of which nothing came, if its step says that this is
// worth no event. See endQuietly.
func (s *span) endIdle(end ending) bool {
	return s.step.Idle && end.err == "" && s.endQuietly(end.how)
}

// endQuietly ends a call without a word, if it can be so ended. If calls in it
// published its enter, it gets its exit.
func (s *span) endQuietly(how hook.Outcome) bool {
	if !s.late || how != hook.Returned {
		return false
	}
	if s.many == nil {
		return s.one.endSilently()
	}
	quiet := true
	for _, ps := range s.parts() {
		quiet = ps.endSilently() && quiet
	}
	return quiet
}

// leaveMany puts out the exit events of a call that is about several pods.
func (a *Agent) leaveMany(s *span, t *taker, last *event) {
	for _, o := range t.list {
		s.add(o.Pod, &a.spanIDs).object = o.UID
	}
	var emitted []*podSpan
	for _, ps := range s.parts() {
		op := t.ops[ps.pod]
		if s.step.Pod.Kind == probes.PodUpdates && op == "" && ps.endSilently() || !a.putEnter(s, ps) {
			continue
		}
		e := *last
		if op != "" {
			e.fields = []field{text("op", op)}
		}
		if ps.ofMirror() {
			e.fields = append(e.fields, flag("mirror", true))
		}
		e.parent = ps.parent
		a.putWire(s, ps, &e, t.wire)
		emitted = append(emitted, ps)
	}
	if t.keep() {
		// As in Leave, there are no faults at exit.
		_ = a.stopMany(s, emitted, exit, last.err)
	}
	if s.step.means == probes.RoleRemove {
		for _, ps := range emitted {
			a.pods.Hide(ps.object)
		}
	}
}

// learnID remembers whose sandbox or container it is that a call made.
func (a *Agent) learnID(p *pod, t *taker) {
	if t.made != "" {
		a.pods.Learn(t.made, p)
	}
}

// readsFields has the roles of which the agent reads fields of the enter, as the
// call begins.
var readsFields = map[probes.Role]bool{probes.RoleUpdate: true}

// makes reports whether a call of the role makes a sandbox or a container, whose id
// is its first result.
func makes(r probes.Role) bool { return r == probes.RoleSandbox || r == probes.RoleCreate }

// follow does what the beginning of a step asks of the agent.
func (a *Agent) follow(s *span, p *pod) {
	switch s.step.means {
	case probes.RoleUpdate:
		p.State.updates.Add(1)
		if wire.Lookup(s.fields(), fieldWaitsKill).Flag() {
			a.releasePod(p, agentpb.ReleasePodKilled)
		}
	case probes.RoleShutdown:
		a.releaseAll(agentpb.ReleaseNodeShutdown)
	}
}

// followMany is follow for a step that is about several pods.
func (a *Agent) followMany(s *span) {
	if s.step.means == probes.RoleShutdown {
		a.releaseAll(agentpb.ReleaseNodeShutdown)
	}
}

// unfollow does what the end of a step asks of the agent.
func (a *Agent) unfollow(s *span, p *pod) {
	if s.step.means == probes.RoleWorker {
		a.dropPending(p, agentpb.ReleaseWorkerEnded)
	}
}
