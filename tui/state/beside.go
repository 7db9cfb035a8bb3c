package state

import "time"

// probeCRI is the probe that stands between a kubelet and its runtime.
const probeCRI = "cri"

// deeds are the calls to the runtime by which the kubelet changes something for
// a pod. All others only look, and are made around them all the time.
var deeds = map[stepName]bool{
	stepRunSandbox: true, stepCreate: true, stepStarted: true, stepPullImage: true, stepStop: true, stepStopSandbox: true,
	stepUpdateResources: true, stepUpdateSandbox: true,
}

// isDeed tells whether a call, of which the enter event is given, is a deed. A
// command that the kubelet runs without a time limit is a lifecycle hook, no
// health probe.
func (s *State) isDeed(id stepID, enter []byte) bool {
	name := stepName(s.steps.at(id).name)
	if name == stepExec {
		d := lookup(enter, "timeout")
		return d.kind == fieldDuration && d.num == 0
	}
	return deeds[name]
}

// enteredBeside takes the beginning of what a probe beside the kubelet sees.
// Reports are all told by then.
func (s *State) enteredBeside(p *podNow, f *fact) {
	if s.steps.role(f.step) == roleReport {
		s.reported(p, f)
		return
	}
	if s.isDeed(f.step, f.raw) {
		p.at, p.step, p.since = f.span, f.step, f.time
	}
}

// reported takes what the cluster says of a pod.
func (s *State) reported(p *podNow, f *fact) {
	word := func(name string) string { return lookup(f.raw, name).String() }
	switch stepName(s.steps.at(f.step).name) {
	case stepBound:
		p.removed, p.bound, p.goneAt = false, true, 0
	case stepDeleting:
		p.delete(s.sinceWhen(f))
		p.doom(f)
	case stepGone:
		p.removed, p.goneAt = true, f.time
	case stepHasSandbox:
		p.sandboxed = lookup(f.raw, "ready").flag()
		switch {
		case p.sandboxed && !s.reports():
			p.runs(f.time)
		case !p.sandboxed && !p.bound:
			// What is left of a pod, until garbage collection comes.
			p.removed, p.goneAt = true, f.time
		}
	case stepKnown:
		if p.removed = !lookup(f.raw, "known").flag(); !p.removed {
			p.bound, p.goneAt = true, 0
		} else if p.goneAt == 0 {
			p.goneAt = f.time
		}
	case stepPhase:
		p.phase = phase(indexOf(phases, lookup(f.raw, "phase").text))
		p.ended = p.ended || p.phase == phaseSucceeded || p.phase == phaseFailed
	case stepCondition:
		s.conditionSays(p, f, word("type"), word("status"), word("reason"))
	case stepContainer:
		s.containerSays(p, f, word("container"), word("state"), word("reason"))
	case stepEvent:
		if word("type") == "Warning" {
			if p.warned == none && p.tries == 0 && p.blocked == none {
				p.trouble = f.time
			}
			p.warned = f.pos
		}
	}
}

// sinceWhen is when what a report tells came about. What was there before the
// probe is told later, with its time as the object has it.
func (s *State) sinceWhen(f *fact) int64 {
	if string(lookup(f.raw, "from").text) != "object" {
		return f.time
	}
	t, err := time.Parse(time.RFC3339Nano, lookup(f.raw, "since").String())
	if err != nil {
		return f.time
	}
	return min(f.time, t.UnixNano()-s.origin)
}

func (s *State) conditionSays(p *podNow, f *fact, kind, status, reason string) {
	if reason == "PodCompleted" || reason == "PodFailed" {
		p.ended = true
	}
	if kind != "Ready" {
		return
	}
	if p.ready = status == "True"; p.ready {
		p.warned = none
		if p.readyAt == 0 {
			p.readyAt = s.sinceWhen(f)
		}
	}
}

// containerSays: a container that waits for a reason which is a failure keeps
// the pod from going on, and so does one that ends again and again.
func (s *State) containerSays(p *podNow, f *fact, name, is, reason string) {
	_, bad := failures[reason]
	again := lookup(f.raw, "restartCount").num > 0 && lookup(f.raw, "exitCode").num != 0
	if is == "waiting" && bad || is == "terminated" && again && !p.ended {
		if p.blocked == none {
			p.trouble = s.sinceWhen(f)
		}
		p.blocked = f.pos
		return
	}
	if is == "running" || is == "terminated" {
		p.warned = none
	}
	if p.blocked == none {
		return
	}
	if raw := s.arena.at(p.blocked); raw == nil || lookup(raw, "container").String() == name {
		p.blocked = none
	}
}

// leftBeside takes the end of what a probe beside the kubelet sees.
func (s *State) leftBeside(p *podNow, f *fact) {
	sp := s.spans.at(f.span)
	if sp == nil || s.steps.role(f.step) == roleReport {
		return
	}
	name := stepName(s.steps.at(f.step).name)
	if name == stepRunSandbox {
		p.sandboxed = p.sandboxed || !f.h.HasError
	}
	if !s.reports() {
		p.callSays(name, f)
	}
	if !deeds[name] {
		if p.at == f.span {
			s.leaveDeed(p, f)
		}
		return
	}
	switch {
	case f.h.HasError:
		if p.tries == 0 && p.blocked == none && p.warned == none {
			p.trouble = f.time
		}
		p.tries++
		p.failed, p.failStep = f.pos, f.step
	case p.failStep == f.step:
		p.tries, p.failed, p.failStep = 0, none, 0
	}
	s.leaveDeed(p, f)
}

// callSays is what a call tells of a pod that nobody else tells anything of.
func (p *podNow) callSays(name stepName, f *fact) {
	switch {
	case f.h.HasError:
	case name == stepStarted, name == stepStatusOf && string(lookup(f.raw, "state").text) == "CONTAINER_RUNNING":
		p.runs(f.time)
	case name == stepStopSandbox:
		p.delete(f.time)
	case name == stepRemoveSandbox:
		p.removed, p.goneAt = true, f.time
	}
}

// runs notes that a pod runs, as far as its calls tell.
func (p *podNow) runs(t int64) {
	if p.phase != phaseRunning {
		p.phase, p.ready, p.readyAt = phaseRunning, true, t
	}
}

// leaveDeed goes back to another deed that goes on: containers are stopped at
// the same time.
func (s *State) leaveDeed(p *podNow, f *fact) {
	if p.at != f.span {
		return
	}
	p.at, p.since = none, f.time
	other := s.back(f.pod, f.pos+1, func(_ int, sp *span) bool {
		return !sp.over(f.pos+1) && sp.shape != noExit && s.isDeed(sp.step, s.arena.at(sp.enter))
	})
	if sp := s.spans.at(other); sp != nil {
		p.at, p.step, p.since = other, sp.step, sp.start
	}
}

// reports tells whether anybody tells how pods are, or only their calls are seen.
func (s *State) reports() bool {
	here := s.steps.at(s.steps.byName[string(stepContainer)]).here
	return here.GetSeen()
}

// markBeside is markPod where no worker is seen: a pod is as its calls and its
// reports say.
func (s *State) markBeside(i int, p *podNow, v *view) (PodMark, int64) {
	inCall := since(p.since, v.now)
	switch {
	case p.removed && p.at == none:
		return PodGone, max(p.goneAt, p.first)
	case p.at != none && inCall > stuckAfter:
		return PodStuck, p.since
	case p.ended && !p.deleting:
		return PodDone, max(p.since, p.first)
	case p.blocked != none && !p.deleting:
		return PodStuck, p.trouble
	case p.tries > 0 && since(p.trouble, v.now) > stuckRetrying:
		return PodStuck, p.trouble
	case p.tries > 0:
		return PodRetrying, p.trouble
	case p.at != none:
		return PodWorking, p.since
	case s.lingers(p):
		return PodWaiting, p.deletedAt
	case p.deleting:
		return PodWorking, p.deletedAt
	case p.phase == phaseRunning && s.isReady(i, p, v):
		return PodRunning, p.readyAt
	case p.phase == phaseRunning, !s.reports():
		return PodWaiting, max(p.since, p.first)
	case p.warned != none && since(p.trouble, v.now) > stuckRetrying:
		return PodStuck, p.trouble
	case p.warned != none:
		return PodRetrying, p.trouble
	case since(max(p.since, p.first), v.now) > stuckAfter:
		return PodStuck, max(p.since, p.first)
	}
	return PodWaiting, max(p.since, p.first)
}
