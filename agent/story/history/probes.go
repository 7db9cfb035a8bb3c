package history

import (
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// probeStates has the states of an agent's probes from a position on, and the union of what the running probes know.
type probeStates struct {
	from  int                   // the position of the first event in these states
	info  *agentpb.InfoResponse // only its Probes are set
	knows probes.Knows
}

// dueState is a probe's state in Info. The agent sends events that it remembers, which are older, after the Info. So
// the state counts from the first event on that is not older than the state.
type dueState struct {
	probe int
	to    *agentpb.Probe
}

// maxProbes bounds the probes of an agent. No agent has more; a file may have any number.
const maxProbes = 32

// Probes returns the agent's probes, each in the state that it had before the event at a position; at the end of the
// history, in its present state.
func (e *Epoch) Probes(at int) []*agentpb.Probe { return e.statesAt(at).info.Probes }

// Knows returns what the agent's probes knew of a story before the event at a position.
func (e *Epoch) Knows(at int) probes.Knows { return e.statesAt(at).knows }

func (e *Epoch) statesAt(at int) *probeStates {
	i := len(e.states) - 1
	for i > 0 && e.states[i].from > at {
		i--
	}
	s := &e.states[i]
	if len(e.due) == 0 || e != e.h.epoch || at < e.h.End() {
		return s
	}
	now := slices.Clone(s.info.Probes)
	for _, d := range e.due {
		now[d.probe] = d.to
	}
	return newStates(at, now)
}

func newStates(from int, all []*agentpb.Probe) *probeStates {
	info := &agentpb.InfoResponse{Probes: all}
	return &probeStates{from: from, info: info, knows: wire.Knows(info)}
}

// EpochBefore returns the epoch of the event before a position; at the end of the history, the present one.
func (h *History) EpochBefore(at int) *Epoch {
	if at >= h.End() {
		return h.epoch
	}
	return h.EpochAt(at - 1)
}

// Knows returns what could be known of a story before the event at a position.
func (h *History) Knows(at int) probes.Knows { return h.EpochBefore(at).Knows(at) }

// learnProbes takes the states of the probes from the agent's Info.
func (e *Epoch) learnProbes(info *agentpb.InfoResponse) {
	seen := info.GetProbes()[:min(len(info.GetProbes()), maxProbes)]
	if len(e.states) == 0 {
		var all []*agentpb.Probe
		for _, p := range seen {
			all = append(all, inState(p, &agentpb.Probe{State: agentpb.ProbeState_PROBE_RUNNING}))
		}
		e.states = append(e.states, *newStates(e.Start, all))
	}
	known := e.states[len(e.states)-1].info.Probes
	e.due = e.due[:0]
	for i, p := range seen {
		if i < len(known) && !sameState(known[i], p) {
			e.due = append(e.due, dueState{i, p})
		}
	}
	e.settle(e.wall, e.h.End())
}

// settle makes due states count from a position on: those that began by the time wall, and those without a time.
func (e *Epoch) settle(wall int64, from int) {
	e.due = slices.DeleteFunc(e.due, func(d dueState) bool {
		is := d.to.Since == nil || d.to.Since.AsTime().UnixNano() <= wall
		if is {
			e.setState(from, d.probe, d.to)
		}
		return is
	})
}

// noteState takes an event about the new state of a probe. A probe that has failed or was stopped keeps that state.
func (e *Epoch) noteState(r *Record) {
	i := int(r.Header.Probe) - 1
	known := e.states[len(e.states)-1].info.Probes
	event := e.Event(r.Raw)
	name, why, is := event.ProbeState()
	state, ok := wire.ProbeStateNamed(name)
	if !is || !ok || i >= len(known) || !wire.Works(known[i]) {
		return
	}
	e.setState(r.Pos+1, i, inState(known[i], &agentpb.Probe{State: state, Reason: wire.Reason(why), Since: timestamppb.New(event.Time)}))
}

// inState returns a probe in the state of another.
func inState(p, of *agentpb.Probe) *agentpb.Probe {
	return &agentpb.Probe{Name: p.GetName(), Knows: p.GetKnows(), State: of.GetState(), Reason: of.GetReason(), Since: of.GetSince()}
}

func sameState(a, b *agentpb.Probe) bool {
	return a.GetState() == b.GetState() && wire.Why(a.GetReason()).Text() == wire.Why(b.GetReason()).Text()
}

// setState sets a probe's state from a position on. If the probe works no more, its open calls are lost: nobody sees
// their ends.
func (e *Epoch) setState(from, probe int, to *agentpb.Probe) {
	last := &e.states[len(e.states)-1]
	before := last.info.Probes[probe]
	if sameState(before, to) {
		return
	}
	all := slices.Clone(last.info.Probes)
	all[probe] = to
	if last.from == from {
		*last = *newStates(from, all)
	} else {
		e.states = append(e.states, *newStates(from, all))
	}
	if wire.Works(before) && !wire.Works(to) {
		e.h.spans.lose(from-1, e.h.last, func(sp *Span) bool { return e.h.seenBy(sp, e, to.GetName()) })
	}
}

// seenBy reports whether the probe with that name saw a call begin.
func (h *History) seenBy(sp *Span, e *Epoch, probe string) bool {
	head, ok := h.Header(sp.Enter)
	return ok && sp.Enter >= e.Start && e.Probe(&head) == probe
}

// ProbesChanged reports whether the state of a probe changes at a position, and returns what the probes know together
// from there on.
func (e *Epoch) ProbesChanged(at int) (knows probes.Knows, is bool) {
	for i := len(e.states) - 1; i > 0 && e.states[i].from >= at; i-- {
		if e.states[i].from == at {
			return e.states[i].knows, true
		}
	}
	return knows, false
}

// forgetStates drops the states that counted only for events before a position.
func (e *Epoch) forgetStates(before int) {
	n := 0
	for n+1 < len(e.states) && e.states[n+1].from <= before {
		n++
	}
	e.states = slices.Delete(e.states, 0, n)
}

// Step returns what the agent reports about a step; nil: nothing.
func (e *Epoch) Step(id StepID) *agentpb.Step {
	if int(id) < len(e.here) {
		return e.here[id]
	}
	return nil
}

// Reach is what one probe can do at a step.
type Reach struct {
	Probe   *agentpb.Probe
	Ability *agentpb.Ability
}

// Reaches returns the reach of each probe that saw a step before the event at a position, in the agent's order.
func (e *Epoch) Reaches(id StepID, at int) (out []Reach) {
	all := e.Probes(at)
	for _, a := range e.Step(id).GetAbilities() {
		if i := a.GetProbe(); int64(i) < int64(len(all)) && wire.Sees(a) && wire.Works(all[i]) {
			out = append(out, Reach{all[i], a})
		}
	}
	return out
}

// Sees reports whether a step was seen before the event at a position.
func (e *Epoch) Sees(id StepID, at int) bool {
	all := e.Probes(at)
	for _, a := range e.Step(id).GetAbilities() {
		if i := a.GetProbe(); int64(i) < int64(len(all)) && wire.Sees(a) && wire.Works(all[i]) {
			return true
		}
	}
	return false
}

// OnlyClosely reports whether a step was seen before the event at a position, but only of pods that were watched closely.
func (e *Epoch) OnlyClosely(id StepID, at int) bool {
	all := e.Reaches(id, at)
	return len(all) > 0 && !slices.ContainsFunc(all, func(r Reach) bool { return !r.Ability.GetClosely() })
}

// Unseen reports whether the agent has a step that none of its probes saw before the event at a position. It returns
// the reason if that is known.
func (e *Epoch) Unseen(id StepID, at int) (why probes.Text, is bool) {
	st := e.Step(id)
	if st == nil || e.Sees(id, at) {
		return why, false
	}
	return wire.Unseen(e.statesAt(at).info, st), true
}
