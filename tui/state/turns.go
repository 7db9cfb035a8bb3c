package state

import (
	"hash/maphash"
	"strings"

	"github.com/podstep/podstep/probes"
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
		if s.steps.is(f.step, stepKillOne) {
			t.did(f, text("stop %s", "停止 %s"), lookup(f.raw, "container").String())
		}
	case roleSandbox:
		t.eventful, t.sandboxes = true, true
		t.did(f, text("sandbox", "沙箱"), "")
	case roleStartOne:
		t.same ^= hash("start", lookup(f.raw, "container").text)
		t.eventful = true
		t.did(f, text("start %s", "启动 %s"), lookup(f.raw, "container").String())
	}
}

// deed is something that a turn did, for a note on it.
type deed struct {
	pos  int
	what probes.Text
	to   string
}

// maxDeeds bounds what is noted of one turn.
const maxDeeds = 6

func (t *turn) did(f *fact, what probes.Text, to string) {
	if len(t.deeds) < maxDeeds {
		t.deeds = append(t.deeds, deed{f.pos, what, oneLine(to)})
	}
}

// deedsOf says what a turn had done by a position.
func (l Lang) deedsOf(t *turn, at int) string {
	var out []string
	for _, d := range t.deeds {
		switch {
		case d.pos >= at:
		case d.to == "":
			out = append(out, l.Say(d.what))
		default:
			out = append(out, l.sayf(d.what, d.to))
		}
	}
	return strings.Join(out, l.Say(text(", ", "、")))
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
		if now.ready {
			t.did(f, text("%s and ready", "%s，已就绪"), phases[now.phase])
		} else {
			t.did(f, text("%s", "%s"), phases[now.phase])
		}
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
		if s.steps.is(f.step, stepCompleteWork) || s.steps.role(f.step) == roleEnd {
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
