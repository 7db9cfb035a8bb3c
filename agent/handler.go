package agent

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/callsite"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

const (
	// Fields that the agent reads, by name. The catalogue guarantees that steps of the roles in readsFields have them.
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
	// The line is found for every step, even if only one line of the source calls it by name: a call through an
	// interface or a function value comes from a line without that name.
	if up := s.parent; up != nil && up.goroutine == s.goroutine {
		s.line = callsite.Line(up.step.Symbol)
	}
	var t taker
	t.atEnter(a, s)
	hook.Eval(values, &t)
	s.checkEarly(t.wire)
	s.Init(a.enterPods(s, &t), s)
	if step.keepsFields() {
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
	return &s.Span, a.announceEnter(s, p, &t)
}

// announceEnter publishes the beginning of a call that is about some pods, and stops the call if somebody wants that here.
// p is the only pod that it is about, or nil.
func (a *Agent) announceEnter(s *span, p *pod, t *taker) error {
	switch {
	case s.late:
		// The call is published when it ends. If the pod is stopped here, it is published now, whatever comes of it.
	case s.many != nil:
		parts := s.parts()
		for _, ps := range parts {
			a.putNew(s, ps, t.wire)
		}
		a.followMany(s)
		if !t.keep() {
			return nil
		}
		a.snapMany(s, parts, enter, "")
		return a.stopMany(s, parts, enter, "")
	default:
		if s.one.id != 0 {
			a.putNew(s, &s.one, t.wire)
		}
		if p != nil {
			a.follow(s, p)
		}
	}
	if p != nil {
		a.noteBackOff(s, p, t)
	}
	if p == nil || !t.keep() {
		return nil
	}
	a.snap(crossing{s, &s.one, enter, ""})
	return a.stop(s, &s.one, enter, "")
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
		return pods.NodeLabels // the kubelet calls the function for others than pods too
	}
	s.one.pod, s.one.id = p, a.spanIDs.Add(1)
	if p == nil {
		return pods.NodeLabels
	}
	s.one.updates = p.State.updates.Load()
	return p.ProfilerLabels()
}

// putEnter publishes the enter event of a call in one pod's story, once. The enters of the calls around it come first.
// putEnter returns false for a call that has ended without an event. It holds the lock until the event is out, so that
// neither the call's exit nor an event within the call comes before it.
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

// putNew is putEnter for a call that no other goroutine knows yet.
func (a *Agent) putNew(s *span, ps *podSpan, shown fieldBytes) {
	ps.parent = a.parentID(s, ps.pod)
	e := journal.Event{Kind: agentpb.Kind_ENTER, Wall: s.wall, Mono: s.start, Parent: ps.parent}
	if s.parent.hasID(ps.pod, ps.parent) {
		e.Line = s.line
	}
	a.putWire(s, ps, &e, shown)
	ps.emitted.Store(true)
}

// hasID reports whether the call has this id in the story of p. It is false for id 0.
func (s *span) hasID(p *pod, id uint64) bool {
	if s == nil || id == 0 {
		return false
	}
	ps := s.part(p)
	return ps != nil && ps.id == id
}

// parentID returns the id that the call around s has in the story of p, or 0. A call whose enter is late publishes it
// now. A call about other pods is no parent, nor is a call that ended without an event.
func (a *Agent) parentID(s *span, p *pod) uint64 {
	for up := s.parent; up != nil; up = up.parent {
		ps := up.part(p)
		if ps == nil && p != nil && up.step.Pod.Kind == probes.PodUpdates {
			ps = up.addPod(p, &a.spanIDs)
		}
		if ps != nil && a.putEnter(up, ps) {
			return ps.id
		}
	}
	return 0
}

// put fills in what all events of a call share, and queues the event.
// It returns the event's number; 0 if it is dropped.
func (a *Agent) put(s *span, ps *podSpan, parent uint64, e journal.Event) uint64 {
	e.Parent = parent
	return a.putWire(s, ps, &e, nil)
}

// putWire is put for an event that knows its parent and has more fields, which
// are copied.
func (a *Agent) putWire(s *span, ps *podSpan, e *journal.Event, more fieldBytes) uint64 {
	e.Step = uint32(s.step.ID) + 1
	e.Span, e.Role, e.Probe = ps.id, s.role, s.mark()
	if p := ps.pod; p != nil {
		e.Pod, e.Sync = &p.State.journal, p.State.sync.Load()
	}
	return a.journal.PutWire(e, more)
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
	if !a.putExit(s, end, &t) || !t.keep() {
		return
	}
	a.snap(crossing{s, &s.one, exit, end.err})
	if !s.fault {
		// A fault at exit would change what was done; only enter has them.
		_ = a.stop(s, &s.one, exit, end.err)
	}
}

// ending is how and when a call ended.
type ending struct {
	how        hook.Outcome
	err        string // its error as text
	wall, mono int64
	unseen     bool // nobody knows how long it took
}

// putExit publishes the exit of a call. It reports whether the call is about one pod, which may now be stopped.
func (a *Agent) putExit(s *span, end ending, t *taker) bool {
	last := journal.Event{Kind: agentpb.Kind_EXIT, Wall: end.wall, Mono: end.mono, Err: end.err, Duration: end.mono - s.start}
	if end.unseen {
		last.Duration = 0
	}
	if s.many != nil {
		a.putExits(s, t, &last)
		return false
	}
	if p := t.pod; p != nil && !s.one.emitted.Load() {
		s.one.pod, s.one.id = p, a.spanIDs.Add(1)
	}
	if s.one.id == 0 {
		return false
	}
	a.putEnter(s, &s.one)
	last.Parent = s.one.parent
	a.putWire(s, &s.one, &last, t.wire)
	p := s.one.pod
	if p != nil {
		a.learnID(p, t)
		a.unfollow(s, p)
	}
	return p != nil
}

// outcome returns the error with which a call ended, as text.
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

// endIdle ends a call without an event if nothing came of it and its step is Idle. It reports whether it did. See
// endQuietly.
func (s *span) endIdle(end ending) bool {
	return s.step.Idle && end.err == "" && s.endQuietly(end.how)
}

// endQuietly ends a call without an event, if that is possible, and reports whether it did. If calls within it have
// published its enter, it needs an exit.
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

// putExits publishes the exits of a call that is about several pods.
func (a *Agent) putExits(s *span, t *taker, last *journal.Event) {
	for _, o := range t.list {
		s.addPod(o.Pod, &a.spanIDs).object = o.UID
	}
	var emitted []*podSpan
	for _, ps := range s.parts() {
		op := t.ops[ps.pod]
		if s.step.Pod.Kind == probes.PodUpdates && op == "" && ps.endSilently() || !a.putEnter(s, ps) {
			continue
		}
		e := *last
		if op != "" {
			e.Fields = []field{text("op", op)}
		}
		if ps.ofMirror() {
			e.Fields = append(e.Fields, flag("mirror", true))
		}
		e.Parent = ps.parent
		a.putWire(s, ps, &e, t.wire)
		emitted = append(emitted, ps)
	}
	if t.keep() {
		a.snapMany(s, emitted, exit, last.Err)
		// As in Leave, there are no faults at exit.
		_ = a.stopMany(s, emitted, exit, last.Err)
	}
	if s.step.means == probes.RoleRemove {
		for _, ps := range emitted {
			a.pods.Hide(ps.object)
		}
	}
}

// learnID notes that the sandbox or container that a call made belongs to p.
func (a *Agent) learnID(p *pod, t *taker) {
	if t.made != "" {
		a.pods.Learn(t.made, p)
	}
}

// readsFields has the roles of steps whose fields the agent reads when a call begins.
var readsFields = map[probes.Role]bool{probes.RoleUpdate: true}

// makes reports whether a call of the role makes a sandbox or a container, whose id
// is its first result.
func makes(r probes.Role) bool { return r == probes.RoleSandbox || r == probes.RoleCreate }

// follow updates the agent's state when a call begins.
func (a *Agent) follow(s *span, p *pod) {
	switch s.step.means {
	case probes.RoleTurn:
		a.beginRetry(s, p)
	case probes.RoleUpdate:
		p.State.updates.Add(1)
		if wire.Lookup(s.fields(), fieldWaitsKill).Flag() {
			a.holds.Forbid(&p.State.holding, agentpb.ReleasePodKilled)
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

// unfollow updates the agent's state when a call ends.
func (a *Agent) unfollow(s *span, p *pod) {
	switch s.step.means {
	case probes.RoleComplete:
		a.endRetry(s, p)
	case probes.RoleWorker:
		a.endRetry(s, p)
		a.holds.Drop(&p.State.holding, agentpb.ReleaseWorkerEnded)
	}
}
