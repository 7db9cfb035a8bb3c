package state

import (
	"hash/maphash"
)

// tellInTurn notes what a call says about the turn that it belongs to.
func (s *State) tellInTurn(p *pod, sp *span, f *fact) {
	t := p.turnOf(sp)
	if t == nil {
		return
	}
	switch s.steps.role(f.step) {
	case roleTurn:
		t.span = f.span
		t.kind = s.kindOf(&s.now.pods[sp.pod])
		if t.kind == turnTerminating {
			s.begin(p, t.item, termination, f)
		}
	case roleWork:
		t.work = f.span
	case roleDoes:
		t.eventful = true
	case roleSandbox:
		t.eventful, t.sandboxes = true, true
	case roleStartOne:
		t.same ^= hash("start", lookup(f.raw, "container").text)
		t.eventful = true
	}
}

var seed = maphash.MakeSeed()

func hash(what string, b []byte) uint64 {
	return maphash.String(seed, what) ^ maphash.Bytes(seed, b) | 1
}

func (s *State) tellExit(p *pod, f *fact) {
	sp := s.spans.at(f.span)
	if sp == nil {
		return
	}
	switch s.steps.role(f.step) {
	case roleMerge:
		if op := string(lookup(f.raw, "op").text); op == "DELETE" || op == "REMOVE" {
			s.begin(p, sp.item, termination, f)
		}
	case roleStatus:
		s.tellStatus(p, sp, f)
	case roleWorker:
		if last := p.turns.at(p.turns.end() - 1); last != nil {
			s.endTurn(p, last)
		}
	}
	it := p.items.at(sp.item)
	if it == nil {
		return
	}
	if t := p.turns.at(it.turn); t != nil {
		s.tellTurnExit(p, t, sp, f)
	} else if sp.failed && it.fault == none {
		it.fault = f.span
		p.tale.failed(s, p, sp.item)
		p.touched(sp.item)
	}
}

// tellStatus: a pod that is ready, or at its end, is no longer being created.
func (s *State) tellStatus(p *pod, sp *span, f *fact) {
	now := &s.now.pods[sp.pod]
	t := p.turnOf(sp)
	if t == nil {
		return
	}
	status := uint16(1) << (2 * now.phase)
	if now.ready {
		status <<= 1
	}
	if p.statuses&status == 0 {
		p.statuses |= status
		t.eventful = true
	}
	if now.ready || now.phase == phaseSucceeded || now.phase == phaseFailed {
		s.begin(p, t.item, running, f)
	}
}

func (s *State) tellTurnExit(p *pod, t *turn, sp *span, f *fact) {
	switch s.steps.role(f.step) {
	case roleTurn:
		t.done, t.failed = f.pos, sp.failed
		if sp.failed {
			t.eventful = true
			if t.same == 0 {
				t.same = hash("fail", []byte(s.steps.at(s.failStep(sp.pod, f)).name))
			}
		}
		if t.sandboxes && !t.failed || t.kind > turnSync {
			t.same = 0
		}
		s.learnTurn(p, t)
		p.tale.finish(s, p, p.items.at(t.item).turn)
	case roleAfter, roleEnd:
		if s.steps.is(f.step, stepCwork) || s.steps.role(f.step) == roleEnd {
			s.endTurn(p, t)
		}
	}
}

// failStep is the innermost step that failed in the turn that has just ended.
func (s *State) failStep(pod int, f *fact) stepID {
	if id := s.now.pods[pod].failStep; id != 0 {
		return id
	}
	return f.step
}

func (s *State) endTurn(p *pod, t *turn) {
	t.ended = true
}
