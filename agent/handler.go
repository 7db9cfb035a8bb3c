package agent

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/hook"
	"github.com/podstep/podstep/probes"
)

// Steps that tell the agent about a pod's life, by name. A test holds that the
// catalogue has them.
const (
	stepWorker      = "worker.loop"
	stepTurn        = "worker.turn"
	stepUpdatePod   = "worker.update"
	stepAdd         = "loop.add"
	stepRemove      = "loop.remove"
	stepShutdown    = "evict.shutdown"
	stepRunSandbox  = "cri.RunPodSandbox"
	stepCreate      = "cri.CreateContainer"
	stepSetStatus   = "sync.setstatus"
	fieldWaitsKill  = "waitsForKill"
	fieldPhase      = "phase"
	fieldContainer  = "container"
	stepGone        = "cluster.gone"
	stepPhase       = "reported.phase"
	stepBound       = "cluster.bound"
	stepKnown       = "cluster.kubelet"
	stepHasSandbox  = "cluster.sandbox"
	stepContainer   = "reported.container"
	roleWorker      = "worker"
	roleKill        = "kill"
	roleSyncLoop    = "syncloop"
	roleMux         = "mux"
	rolePuller      = "puller"
	roleBoot        = "boot"
	reasonKillWaits = "somebody waits for the pod to be killed"
	reasonShutdown  = "the node shuts down"
)

// Enter is called by the hook, on the kubelet's goroutine.
func (a *Agent) Enter(id int, cur *hook.Span, values hook.Values) (*hook.Span, error) {
	if id < 0 || id >= len(a.steps) {
		return nil, nil
	}
	step := &a.steps[id]
	vals := hook.Eval(values)
	s := &span{step: step, role: step.role, late: step.late}
	s.wall, s.start = a.now()
	if !step.Root {
		// Goroutines started at boot are what their own steps say they are.
		if s.parent = spanOf(cur); s.parent != nil && a.roles.names[s.parent.role] != roleBoot {
			s.role = s.parent.role
		}
	}
	s.Init(a.enterPods(s, vals), s)
	s.fields = a.namedFields(step.Fields, vals, step.enterPods)
	p := s.only()
	if p != nil && step.life == lifeTurn {
		p.sync.Add(1)
	}
	if s.late {
		if p == nil {
			return &s.Span, nil
		}
		// Whoever stops the pod here wants to see the call, whatever comes of it.
		return &s.Span, a.stop(s, &s.one, enter, "")
	}
	if s.many != nil {
		parts := s.parts()
		for _, ps := range parts {
			a.tellEnter(s, ps)
		}
		a.followMany(s)
		return &s.Span, a.stopMany(s, parts, enter, "")
	}
	if s.one.id != 0 {
		a.tellEnter(s, &s.one)
	}
	if p == nil {
		return &s.Span, nil
	}
	a.follow(s, p)
	return &s.Span, a.stop(s, &s.one, enter, "")
}

// enterPods finds the pods of a call as it begins, and its profiler labels.
func (a *Agent) enterPods(s *span, vals []any) []hook.Label {
	switch s.step.Pod.Kind {
	case probes.PodUpdates:
		s.many = &podSpans{}
		return nodeLabels
	case probes.PodList, probes.PodObjects:
		s.many = &podSpans{}
		if len(vals) > 0 {
			for _, p := range a.pods.fromList(vals[0], s.step.Pod.Kind == probes.PodObjects) {
				s.many.all = append(s.many.all, newPodSpan(p, &a.spanIDs))
			}
		}
		return nodeLabels
	}
	var p *pod
	if s.step.enterPods == 1 && len(vals) > 0 {
		p = a.pods.fromValue(vals[0])
	}
	if p == nil && s.step.Pod.Kind != probes.PodNone {
		p = s.parent.inherited()
	}
	if p == nil && s.step.Pod.Kind == probes.PodInherit {
		return nodeLabels // somebody else's call of what pods call too
	}
	s.one.pod, s.one.id = p, a.spanIDs.Add(1)
	if p == nil {
		return nodeLabels
	}
	s.one.updates = p.updates.Load()
	return p.profilerLabels()
}

// namedFields makes fields of the values after the first skip.
func (a *Agent) namedFields(names []probes.Field, vals []any, skip int) []field {
	if len(names) == 0 || len(vals) < skip+len(names) {
		return nil // the latter: an expression ran into a nil pointer
	}
	out := make([]field, 0, len(names))
	for i, n := range names {
		if f, ok := toField(n.Name, vals[skip+i]); ok {
			out = append(out, f)
		}
	}
	return out
}

// tellEnter puts out the enter event of a call in one pod's story, once, after
// those of the calls it happens in. It returns false for a call that has ended
// without a word. The lock is held until the event is out, so that neither what
// happens in the call nor its exit comes before it.
func (a *Agent) tellEnter(s *span, ps *podSpan) bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if !ps.told && !ps.over {
		ps.told = true
		a.put(s, ps, a.parentID(s, ps.pod), event{kind: agentpb.Kind_ENTER, wall: s.wall, mono: s.start, fields: s.fields})
	}
	return ps.told
}

// parentID is the id, in the story of p, of the call that s happens in. Calls
// that are told late are told now. A call about other pods is no parent, nor is
// one that ended without a word.
func (a *Agent) parentID(s *span, p *pod) uint64 {
	for up := s.parent; up != nil; up = up.parent {
		ps := up.part(p)
		if ps == nil && p != nil && up.step.Pod.Kind == probes.PodUpdates {
			ps = up.add(p, &a.spanIDs)
		}
		if ps != nil && a.tellEnter(up, ps) {
			return ps.id
		}
	}
	return 0
}

// put fills in what all events of a call share, and queues the event.
func (a *Agent) put(s *span, ps *podSpan, parent uint64, e event) {
	e.step = uint32(s.step.ID) + 1
	e.pod, e.span, e.parent, e.role = ps.pod, ps.id, parent, s.role
	if e.wall == 0 {
		e.wall, e.mono = a.now()
	}
	if ps.pod != nil {
		e.sync = ps.pod.sync.Load()
	}
	a.journal.put(e)
}

// Leave is called by the hook when the function is left.
func (a *Agent) Leave(hs *hook.Span, how hook.Outcome, err error, values hook.Values) {
	s := spanOf(hs)
	if s == nil {
		return
	}
	vals := hook.Eval(values)
	end := ending{how: how, err: outcome(how, err)}
	end.wall, end.mono = a.now()
	if a.leave(s, end, vals) && !s.fault {
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

// leave tells that a call has ended. It returns whether the call is about one
// pod, which may now be stopped.
func (a *Agent) leave(s *span, end ending, vals []any) bool {
	if s.isQuiet(end.how, end.err, vals) {
		return false
	}
	s.results = a.namedFields(s.step.Results, vals, 1+s.step.exitPods)
	last := event{kind: agentpb.Kind_EXIT, wall: end.wall, mono: end.mono, fields: s.results, err: end.err, duration: end.mono - s.start}
	if s.many != nil {
		a.leaveMany(s, vals, last)
		return false
	}
	if s.step.Pod.Exit && len(vals) > 1 {
		if p := a.pods.fromValue(vals[1]); p != nil && !s.one.wasTold() {
			s.one.pod, s.one.id = p, a.spanIDs.Add(1)
		}
	}
	if s.one.id == 0 {
		return false
	}
	a.tellEnter(s, &s.one)
	a.put(s, &s.one, a.parentID(s, s.one.pod), last)
	p := s.one.pod
	if p != nil {
		a.learnID(s, p, vals)
		a.unfollow(s, p, end.err, end.wall)
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
		return errorText(err)
	}
	return ""
}

// isQuiet tells whether a call is not worth an event, and then ends it so: its
// step says that, or nothing came of it. If calls in it told its enter, it gets
// its exit.
func (s *span) isQuiet(how hook.Outcome, errText string, vals []any) bool {
	if !s.late || how != hook.Returned || !s.cameToNothing(errText, vals) {
		return false
	}
	if s.many == nil {
		return s.one.hush()
	}
	quiet := true
	for _, ps := range s.parts() {
		quiet = ps.hush() && quiet
	}
	return quiet
}

func (s *span) cameToNothing(errText string, vals []any) bool {
	if s.step.Idle && errText == "" {
		return true
	}
	quiet := false
	if len(vals) > 0 {
		quiet, _ = vals[0].(bool)
	}
	return quiet
}

// leaveMany puts out the exit events of a call that is about several pods.
func (a *Agent) leaveMany(s *span, vals []any, last event) {
	ops := map[*pod]string{}
	for i, u := range s.step.Pod.Updates {
		if 1+i >= len(vals) {
			break
		}
		for _, p := range a.pods.fromList(vals[1+i], false) {
			ops[p] = u.Op
			s.add(p, &a.spanIDs)
		}
	}
	var told []*podSpan
	for _, ps := range s.parts() {
		op := ops[ps.pod]
		if s.step.Pod.Kind == probes.PodUpdates && op == "" && ps.hush() || !a.tellEnter(s, ps) {
			continue
		}
		e := last
		if op != "" {
			e.fields = append([]field{text("op", op)}, last.fields...)
		}
		a.put(s, ps, a.parentID(s, ps.pod), e)
		told = append(told, ps)
	}
	// As in Leave, there are no faults at exit.
	_ = a.stopMany(s, told, exit, last.err)
	if s.step.life == lifeRemove {
		for _, ps := range told {
			a.remove(ps.pod)
		}
	}
}

// remove notes that a pod's source has it no more. That is after the event is
// out, so that who finds the pod gone has been sent the end of its story.
func (a *Agent) remove(p *pod) {
	p.where.removed.Store(true)
	a.pods.hide(p)
}

// learnID remembers whose sandbox or container it is that a call made.
func (a *Agent) learnID(s *span, p *pod, vals []any) {
	if s.step.life != lifeMakes || len(vals) == 0 {
		return
	}
	for _, v := range vals[1:] {
		if id, ok := v.(string); ok && id != "" {
			a.pods.learn(id, p)
			return
		}
	}
}

// life is what a step says about the life of a pod.
type life uint8

const (
	lifeNothing  life = iota
	lifeWorker        // its worker is
	lifeTurn          // its worker takes a turn
	lifeUpdate        // its worker is told something
	lifeAdd           // its source has it
	lifeRemove        // its source has it no more
	lifeShutdown      // the node ends all pods
	lifeMakes         // the runtime made something of it
	lifeStatus        // its status is set
	lifeGone          // the cluster has it no more
	lifeReport        // the cluster says something else of it
)

var lives = map[string]life{
	stepWorker: lifeWorker, stepTurn: lifeTurn, stepUpdatePod: lifeUpdate, stepAdd: lifeAdd, stepRemove: lifeRemove,
	stepShutdown: lifeShutdown, stepRunSandbox: lifeMakes, stepCreate: lifeMakes, stepSetStatus: lifeStatus,
	stepPhase: lifeStatus, stepGone: lifeGone,
	stepBound: lifeReport, stepKnown: lifeReport, stepHasSandbox: lifeReport, stepContainer: lifeReport,
}

// follow notes where a pod is as a step of it begins.
func (a *Agent) follow(s *span, p *pod) {
	w := &p.where
	switch s.step.life {
	case lifeUpdate:
		p.updates.Add(1)
		for _, f := range s.fields {
			if f.name == fieldWaitsKill && f.num != 0 {
				a.releasePod(p, reasonKillWaits)
			}
		}
	case lifeShutdown:
		a.releaseAll(reasonShutdown)
	case lifeWorker:
		w.finished.Store(false)
		w.worker.Store(true)
	case lifeTurn:
		w.working.Store(true)
	}
	// What others do about a pod that has a worker is not where it is.
	if a.onWorker(s) || !w.worker.Load() {
		w.at(s.step, s.wall)
	}
}

// followMany is follow for a step that is about several pods.
func (a *Agent) followMany(s *span) {
	if s.step.life == lifeShutdown {
		a.releaseAll(reasonShutdown)
	}
	for _, ps := range s.parts() {
		if ps.pod == nil {
			continue
		}
		w := &ps.pod.where
		if s.step.life == lifeAdd {
			w.removed.Store(false)
		}
		if !w.worker.Load() {
			w.at(s.step, s.wall)
		}
	}
}

// unfollow notes where a pod is as a step of it ends.
func (a *Agent) unfollow(s *span, p *pod, err string, now int64) {
	w := &p.where
	switch s.step.life {
	case lifeWorker:
		w.worker.Store(false)
		w.working.Store(false)
		w.finished.Store(true)
		a.forgetWish(p, "it has ended")
		return
	case lifeTurn:
		w.working.Store(false)
		w.err.Store(&err)
		w.since.Store(now)
	case lifeGone:
		w.finished.Store(true)
		w.removed.Store(true)
	case lifeReport:
		p.reported(s, err, now)
	case lifeStatus:
		for _, f := range s.fields {
			if f.name == fieldPhase && f.text != "" {
				p.phase.Store(&f.text)
				if s.step.Name == stepPhase {
					w.finished.Store(f.text == string(v1.PodSucceeded) || f.text == string(v1.PodFailed))
				}
			}
		}
	}
	if up := s.parent; up != nil && a.onWorker(s) {
		w.step.Store(up.step)
	}
}
