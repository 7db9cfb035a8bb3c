package agent

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/hook"
	"github.com/podstep/podstep/probes"
)

// Steps that tell the agent about a pod's life, by name. A test holds that the
// catalogue has them.
const (
	stepWorker       = "worker.loop"
	stepTurn         = "worker.turn"
	stepUpdatePod    = "worker.update"
	stepRemove       = "loop.remove"
	stepShutdown     = "evict.shutdown"
	stepRunSandbox   = "cri.RunPodSandbox"
	stepCreate       = "cri.CreateContainer"
	fieldWaitsKill   = "waitsForKill"
	roleWorker       = "worker"
	reasonKillWaits  = "somebody waits for the pod to be killed"
	reasonShutdown   = "the node shuts down"
	noLabelsForNodes = "node"
)

var nodeLabels = hook.Labels(noLabelsForNodes)

// Enter is called by the hook, on the kubelet's goroutine.
func (a *Agent) Enter(id int, cur *hook.Span, values hook.Values) (*hook.Span, error) {
	if id < 0 || id >= len(a.steps) {
		return nil, nil
	}
	step := &a.steps[id]
	vals := hook.Eval(values)
	s := &span{step: step, role: step.role}
	s.wall, s.start = a.now()
	if !step.Root {
		if s.parent = spanOf(cur); s.parent != nil {
			s.role = s.parent.role
		}
	}
	labels := a.enterPods(s, vals)
	if step.Name == stepTurn {
		if p := s.only(); p != nil {
			p.sync.Add(1)
		}
	}
	s.fields = a.namedFields(step.Fields, vals, step.enterPods)
	s.late = step.Quiet != "" || step.Idle || step.Pod.Exit
	if s.late {
		return hook.NewSpan(labels, s), nil
	}
	for i := range s.pods {
		a.tellEnter(s, i)
	}
	own := hook.NewSpan(labels, s)
	if p := s.only(); p != nil {
		a.follow(s, p)
		return own, a.stop(s, p, enter, "")
	}
	a.followMany(s)
	return own, nil
}

// enterPods finds the pods of a call as it begins, and its profiler labels.
func (a *Agent) enterPods(s *span, vals []any) []hook.Label {
	switch s.step.Pod.Kind {
	case probes.PodUpdates:
		return nodeLabels
	case probes.PodList, probes.PodObjects:
		if len(vals) > 0 {
			for _, p := range a.pods.fromList(vals[0], s.step.Pod.Kind == probes.PodObjects) {
				s.pods = append(s.pods, podSpan{pod: p, id: a.spanIDs.Add(1)})
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
	s.pods = append(s.pods, podSpan{pod: p, id: a.spanIDs.Add(1)})
	if p == nil {
		return nodeLabels
	}
	return p.profilerLabels()
}

// namedFields makes fields of the values after the first skip.
func (a *Agent) namedFields(names []probes.Field, vals []any, skip int) []field {
	if len(vals) < skip+len(names) {
		return nil // an expression ran into a nil pointer
	}
	var out []field
	for i, n := range names {
		if f, ok := toField(n.Name, vals[skip+i]); ok {
			out = append(out, f)
		}
	}
	return out
}

// tellEnter puts out the enter event of one pod's part of a call, once, after
// those of the calls it happens in.
func (a *Agent) tellEnter(s *span, i int) {
	s.mu.Lock()
	ps := s.pods[i]
	if ps.told {
		s.mu.Unlock()
		return
	}
	s.pods[i].told = true
	s.mu.Unlock()
	parent := a.parentID(s, ps.pod)
	a.put(s, ps, parent, event{kind: agentpb.Kind_ENTER, wall: s.wall, mono: s.start, fields: s.fields})
}

// parentID is the id, in the story of p, of the call that s happens in. Calls
// that are told late are told now. A call about other pods is no parent.
func (a *Agent) parentID(s *span, p *pod) uint64 {
	for up := s.parent; up != nil; up = up.parent {
		up.mu.Lock()
		at := -1
		for i := range up.pods {
			if up.pods[i].pod == p {
				at = i
			}
		}
		if at < 0 && up.late && p != nil && up.step.Pod.Kind == probes.PodUpdates {
			at = len(up.pods)
			up.pods = append(up.pods, podSpan{pod: p, id: a.spanIDs.Add(1)})
		}
		up.mu.Unlock()
		if at >= 0 {
			a.tellEnter(up, at)
			return up.at(at).id
		}
	}
	return 0
}

// put fills in what all events of a call share, and queues the event.
func (a *Agent) put(s *span, ps podSpan, parent uint64, e event) {
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
	quiet, errText := false, ""
	if len(vals) > 0 {
		quiet, _ = vals[0].(bool)
	}
	if err != nil {
		errText = errorText(err)
	}
	switch how {
	case hook.Panicked:
		quiet, errText = false, "panic"
	case hook.Exited:
		quiet, errText = false, "the goroutine exited"
	}
	if s.step.Idle && errText == "" && !s.anyTold() {
		quiet = true
	}
	results := a.namedFields(s.step.Results, vals, 1+s.step.exitPods)
	ops := a.exitPods(s, vals)
	wall, mono := a.now()
	// Calls within may have told a quiet call's enter: then it gets its exit.
	for i := range s.count() {
		ps := s.at(i)
		if !ps.told {
			if quiet || (s.step.Pod.Kind == probes.PodUpdates && ops[ps.pod] == "") {
				continue
			}
			a.tellEnter(s, i)
		}
		fields := results
		if op := ops[ps.pod]; op != "" {
			fields = append([]field{text("op", op)}, results...)
		}
		a.put(s, ps, a.parentID(s, ps.pod), event{
			kind: agentpb.Kind_EXIT, wall: wall, mono: mono,
			fields: fields, err: errText, duration: mono - s.start,
		})
	}
	if quiet {
		return
	}
	if p := s.only(); p != nil {
		a.learnID(s, p, vals)
		a.unfollow(s, p, errText)
		if !s.fault {
			// A fault at exit would change what was done; only enter has them.
			_ = a.stop(s, p, exit, errText)
		}
	}
}

func (s *span) anyTold() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.pods {
		if s.pods[i].told {
			return true
		}
	}
	return false
}

func (s *span) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pods)
}

func (s *span) at(i int) podSpan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[i]
}

// exitPods finds the pods that are known only as a call ends, and what was
// decided about each.
func (a *Agent) exitPods(s *span, vals []any) map[*pod]string {
	if !s.step.Pod.Exit || len(vals) < 1+s.step.exitPods {
		return nil
	}
	if s.step.Pod.Kind != probes.PodUpdates {
		if p := a.pods.fromValue(vals[1]); p != nil {
			s.mu.Lock()
			s.pods = []podSpan{{pod: p, id: a.spanIDs.Add(1)}}
			s.mu.Unlock()
		}
		return nil
	}
	ops := map[*pod]string{}
	for i, u := range s.step.Pod.Updates {
		for _, p := range a.pods.fromList(vals[1+i], false) {
			ops[p] = u.Op
			s.add(p, a.spanIDs.Add(1))
		}
	}
	return ops
}

// add makes p one of the pods of the call, if it is not.
func (s *span) add(p *pod, id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.pods {
		if s.pods[i].pod == p {
			return
		}
	}
	s.pods = append(s.pods, podSpan{pod: p, id: id})
}

// learnID remembers whose sandbox or container it is that a call made.
func (a *Agent) learnID(s *span, p *pod, vals []any) {
	if s.step.Name != stepRunSandbox && s.step.Name != stepCreate {
		return
	}
	for _, v := range vals[min(1, len(vals)):] {
		if id, ok := v.(string); ok && id != "" {
			a.pods.learn(id, p)
			return
		}
	}
}

// follow notes where a pod is as a step of it begins.
func (a *Agent) follow(s *span, p *pod) {
	switch s.step.Name {
	case stepUpdatePod:
		for _, f := range s.fields {
			if f.name == fieldWaitsKill && f.num != 0 {
				a.releasePod(p, reasonKillWaits)
			}
		}
	case stepShutdown:
		a.releaseAll(reasonShutdown)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &p.where
	switch {
	case s.step.Name == stepWorker:
		w.worker, w.finished = true, false
	case s.step.Name == stepTurn:
		w.working = true
	case a.roles.names[s.role] != roleWorker && w.worker:
		return // what others do about the pod is not where it is
	}
	w.stage, w.step, w.since = s.step.Stage, s.step.Name, time.Now()
}

// followMany is follow for a step that is about several pods.
func (a *Agent) followMany(s *span) {
	if s.step.Name == stepShutdown {
		a.releaseAll(reasonShutdown)
	}
	for i := range s.count() {
		if p := s.at(i).pod; p != nil {
			p.mu.Lock()
			if s.step.Name == stepRemove {
				p.where.removed = true
			}
			if !p.where.worker {
				p.where.stage, p.where.step, p.where.since = s.step.Stage, s.step.Name, time.Now()
			}
			p.mu.Unlock()
		}
	}
}

// unfollow notes where a pod is as a step of it ends.
func (a *Agent) unfollow(s *span, p *pod, err string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &p.where
	switch s.step.Name {
	case stepWorker:
		w.finished, w.worker, w.working = true, false, false
	case stepTurn:
		w.working, w.err, w.since = false, err, time.Now()
	default:
		if s.step.Name == "sync.setstatus" || s.step.Name == "sync.genstatus" {
			p.notePhase(s.fields)
		}
		if up := s.parent; up != nil && up.role == s.role && a.roles.names[s.role] == roleWorker {
			w.stage, w.step = up.step.Stage, up.step.Name
		}
	}
}

// notePhase takes the phase from a step's fields. The caller holds mu.
func (p *pod) notePhase(fields []field) {
	for _, f := range fields {
		if f.name == "phase" && f.text != "" {
			p.meta.phase = f.text
		}
	}
}
