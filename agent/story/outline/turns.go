package outline

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// kindOf returns the kind of a turn that begins now.
func kindOf(p *life.Pod) Kind {
	switch {
	case p.Work == life.WorkTerminating:
		return Terminating
	case p.Work == life.WorkTerminated:
		return Terminated
	case p.Sandboxed || p.Phase >= life.Running:
		return Sync
	}
	return Create
}

// inTurn notes what a call shows about its turn.
func (o *Outlines) inTurn(p *Pod, sp *history.Span, r *history.Record) {
	t := p.TurnOf(sp)
	if t == nil {
		return
	}
	role := o.h.Role(r.Step)
	if life.Changes(o.h, r.Step, r) {
		t.Eventful = true
	}
	switch role {
	case probes.RoleTurn:
		t.Span = r.Span
		t.Kind = kindOf(o.lives.Now().Pod(sp.Pod))
		if t.Kind == Terminating {
			o.begin(p, t.Item, Termination, r)
		}
	case probes.RoleWork:
		t.Work = r.Span
	case probes.RoleKill:
		t.changed(r.Pos, ContainerStopped, container(r))
	case probes.RoleSandbox:
		t.Eventful, t.Sandboxes = true, true
		t.changed(r.Pos, SandboxMade, "")
	case probes.RoleContainer:
		t.Same ^= hash("start", r.Field("container").Text)
		t.Eventful = true
		t.changed(r.Pos, ContainerStarted, container(r))
	}
}

func container(r *history.Record) string { return words.OneLine(r.Field("container").String()) }

func (o *Outlines) left(p *Pod, r *history.Record) {
	sp := o.h.Span(r.Span)
	if sp == nil {
		return
	}
	switch o.h.Role(r.Step) {
	case probes.RoleMerge:
		if op := string(r.Field("op").Text); op == "DELETE" || op == "REMOVE" {
			o.begin(p, sp.Item, Termination, r)
		}
	case probes.RoleStatus:
		o.statusSet(p, sp, r)
	case probes.RoleWorker:
		if last := p.Turns.Last(); last != nil {
			last.Ended = true
		}
	}
	it := p.Items.At(sp.Item)
	if it == nil {
		return
	}
	if t := p.Turns.At(it.Turn); t != nil {
		o.leftInTurn(p, t, sp, r)
	} else if sp.Failed && it.Fault == None && !o.h.IsRequest(sp.Step) {
		it.Fault = r.Span
		p.Segments.failed(o, p, sp.Item)
		p.touched(sp.Item)
	}
}

// statusSet takes a new status: a pod that is ready, or at its end, is no longer being created.
func (o *Outlines) statusSet(p *Pod, sp *history.Span, r *history.Record) {
	now := o.lives.Now().Pod(sp.Pod)
	t := p.TurnOf(sp)
	if t == nil {
		return
	}
	status, what := uint16(1)<<(2*now.Phase), PhaseSet
	if now.Ready {
		status, what = status<<1, PhaseSetReady
	}
	if p.statuses&status == 0 {
		p.statuses |= status
		t.Eventful = true
		t.changed(r.Pos, what, now.Phase.String())
	}
	if now.Ready || now.Phase.Over() {
		o.begin(p, t.Item, Running, r)
	}
}

func (o *Outlines) leftInTurn(p *Pod, t *Turn, sp *history.Span, r *history.Record) {
	switch o.h.Role(r.Step) {
	case probes.RoleTurn:
		t.Done, t.Failed = r.Pos, sp.Failed
		if sp.Failed {
			t.Eventful = true
			if t.Same == 0 {
				t.Same = hash("fail", []byte(o.h.Step(o.failStep(sp.Pod, r)).Name))
			}
		}
		if t.Sandboxes && !t.Failed || t.Kind > Sync {
			t.Same = 0
		}
		if o.Learnt != nil && !t.Failed {
			o.Learnt(p, t)
		}
		p.Segments.finish(o, p, p.Items.At(t.Item).Turn)
	case probes.RoleComplete, probes.RoleEnd:
		t.Ended = true
	}
}

// failStep returns the innermost step that failed in the turn that has just ended.
func (o *Outlines) failStep(pod int, r *history.Record) history.StepID {
	if id := o.lives.Now().Pod(pod).FailStep; id != 0 {
		return id
	}
	return r.Step
}
