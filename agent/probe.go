package agent

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// Probe is one of the agent's probes. It reports what it sees to the agent.
type Probe struct {
	agent *Agent
	index uint8
	can   atomic.Pointer[probes.Abilities]
	mu    sync.Mutex // is held while state changes and its event is queued
	state atomic.Pointer[probeState]
	// debugger answers questions about goroutines; nil: the probe has none.
	debugger atomic.Pointer[Debugger]
	// behind makes the probe report what it has seen and not yet reported; nil: it reports all at once.
	behind atomic.Pointer[func(context.Context)]
	// closely is called when the probe may have to look closely; nil: it sees the same all the time.
	closely atomic.Pointer[func(context.Context)]
}

// probeState is how a probe fares.
type probeState struct {
	state  agentpb.ProbeState
	reason probes.Reason
	since  time.Time
}

// maxProbes bounds the probes of an agent.
const maxProbes = 32

// addProbes makes the agent's probes.
func (a *Agent) addProbes() {
	state := agentpb.ProbeState_PROBE_RUNNING
	if a.opts.Starting {
		state = agentpb.ProbeState_PROBE_STARTING
	}
	for i, can := range a.opts.Probes {
		p := &Probe{agent: a, index: uint8(i)}
		p.can.Store(&can)
		p.state.Store(&probeState{state: state, since: a.started})
		a.probes = append(a.probes, p)
	}
	for _, l := range a.opts.LeftOut {
		p := &Probe{agent: a, index: uint8(len(a.probes))}
		p.can.Store(&l.Can)
		p.state.Store(&probeState{state: agentpb.ProbeState_PROBE_STOPPED, reason: l.Why, since: a.started})
		a.probes = append(a.probes, p)
	}
}

// LeftOut is a probe that was not started. Its abilities are known, so that a person who misses it is told why.
type LeftOut struct {
	Can probes.Abilities
	Why probes.Reason
}

// Probe returns the agent's probe of that name, or nil.
func (a *Agent) Probe(name string) *Probe {
	i := slices.IndexFunc(a.probes, func(p *Probe) bool { return p.name() == name })
	if i < 0 {
		return nil
	}
	return a.probes[i]
}

func (p *Probe) name() string { return p.can.Load().Probe }

// at returns what the probe can do at a step.
func (p *Probe) at(s *stepInfo) probes.Ability { return p.can.Load().At(s.Name) }

// OnBehind gives the agent a function that makes the probe report at once what it has seen so far. The agent calls it
// before it gives a client what is known. Only a probe that reports late needs it.
func (p *Probe) OnBehind(report func(context.Context)) { p.behind.Store(&report) }

// othersWithin is how long AwaitOthers waits.
const othersWithin = 250 * time.Millisecond

// AwaitOthers waits until the other probes have reported what they have seen so far, but not for long. A probe that does not see
// in which call a call happens uses it before it may hold that call: another probe may have seen that, and step over and step out
// go by it.
func (p *Probe) AwaitOthers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, othersWithin)
	defer cancel()
	for _, o := range p.agent.probes {
		if o != p {
			o.catchUp(ctx)
		}
	}
}

func (p *Probe) catchUp(ctx context.Context) {
	if report := p.behind.Load(); report != nil {
		(*report)(ctx)
	}
}

// works reports whether the probe sees steps, or will in a moment.
func (p *Probe) works() bool {
	switch p.state.Load().state {
	case agentpb.ProbeState_PROBE_FAILED, agentpb.ProbeState_PROBE_STOPPED:
		return false
	}
	return true
}

// State sets the state of the probe and the reason for it, and sends watchers an event. It does nothing if the probe
// has failed before, or if nothing changes.
func (p *Probe) State(state agentpb.ProbeState, reason probes.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.state.Load()
	same := before.state == state && (state == agentpb.ProbeState_PROBE_RUNNING || before.reason.Text() == reason.Text())
	if before.state == agentpb.ProbeState_PROBE_FAILED || same {
		return
	}
	p.state.Store(&probeState{state, reason, time.Now()})
	p.report()
}

// report sends watchers the probe's state. The caller holds mu.
func (p *Probe) report() {
	now := p.state.Load()
	name := strings.ToLower(strings.TrimPrefix(now.state.String(), "PROBE_"))
	e := journal.Event{Kind: agentpb.Kind_NOTE, Probe: p.index + 1, Fields: []field{text(fieldState, name)}}
	if !now.reason.IsZero() {
		e.Fields = append(e.Fields, text(fieldReason, now.reason.Code))
		for _, arg := range slices.Sorted(maps.Keys(now.reason.Args)) {
			e.Fields = append(e.Fields, text(arg, values.Text(now.reason.Args[arg])))
		}
	}
	p.agent.journal.Put(e)
}

// Remark sets a remark in place of the reason for the state of a running probe. Clients see it when they ask for the
// state. A remark may change all the time, so it makes no event.
func (p *Probe) Remark(remark probes.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.state.Load(); now.state == agentpb.ProbeState_PROBE_RUNNING {
		p.state.Store(&probeState{now.state, remark, now.since})
	}
}

// Fields of the events that say how a probe fares, and of those that say that a
// call was seen once more.
const (
	fieldState  = "state"
	fieldReason = "reason"
	fieldSeen   = "seen"
)

func (p *Probe) proto() *agentpb.Probe {
	st, can := p.state.Load(), p.can.Load()
	return &agentpb.Probe{
		Name: can.Probe, State: st.state, Reason: wire.Reason(st.reason), Since: timestamppb.New(st.since),
		Knows: wire.KnowsOf(can.Knows),
	}
}

// sees reports whether a probe that works sees the step.
func (a *Agent) sees(s *stepInfo) bool {
	return a.anyReach(s, func(r reach) bool { return r.sees() })
}

// canHold reports whether a pod may be held at a side of the step at all.
func (a *Agent) canHold(s *stepInfo, side int) bool {
	return s.hold[side] != probes.HoldNo && a.anyReach(s, func(r reach) bool { return r.holds(side) })
}

// canFail reports whether the step can be made to fail.
func (a *Agent) canFail(s *stepInfo) bool {
	return a.anyReach(s, func(r reach) bool { return r.fails() })
}

func (a *Agent) anyReach(s *stepInfo, is func(reach) bool) bool {
	return slices.ContainsFunc(a.probes, func(p *Probe) bool { return is(s.reach(p.index)) && p.works() })
}

// whyNoHold returns why no pod can be held at the step.
func (a *Agent) whyNoHold(s *stepInfo, side int) *agentpb.Problem {
	if s.hold[side] != probes.HoldNo {
		for _, p := range a.probes {
			if r := s.reach(p.index); r.sees() && !r.holds(side) && p.works() {
				if why := p.at(s).NoHold; !why.IsZero() {
					p := problem(agentpb.Problem_PROBE_CANNOT_HOLD, args{"step": s.Name})
					p.Reason = wire.Reason(why)
					return p
				}
			}
		}
	}
	return s.noHold
}

// whyNoFail returns why no probe makes the step fail: the probe that sees the step cannot, or the step returns no
// error.
func (a *Agent) whyNoFail(s *stepInfo) *agentpb.Problem {
	for _, p := range a.probes {
		if why := p.at(s).NoFail; s.reach(p.index).sees() && p.works() && !why.IsZero() {
			out := problem(agentpb.Problem_PROBE_CANNOT_FAIL, args{"step": s.Name})
			out.Reason = wire.Reason(why)
			return out
		}
	}
	return problem(agentpb.Problem_STEP_CANNOT_FAIL, nil)
}

// whyNotSeen returns why no probe sees the step: a probe that would see it does not work. If there is no such probe, it
// returns the foremost reason that a probe gives.
func (a *Agent) whyNotSeen(s *stepInfo) *agentpb.Problem {
	out := problem(agentpb.Problem_STEP_NOT_SEEN, nil)
	for _, p := range a.probes {
		if s.reach(p.index).sees() && !p.works() { // the reason of one that works is a remark
			out.Reason = wire.Reason(p.state.Load().reason)
			return out
		}
	}
	var all []probes.Reason
	for _, p := range a.probes {
		can := p.at(s)
		all = append(all, can.Unseen)
	}
	out.Reason = wire.Reason(reasons.Foremost(all))
	return out
}

// whyNothingHolds returns why no pod can be held at any step: the probe that could hold one does not work. It returns
// nil if a pod can be held somewhere.
func (a *Agent) whyNothingHolds() *agentpb.Problem {
	var why *agentpb.Problem
	for i := range a.steps {
		s := &a.steps[i]
		for side, rule := range s.hold {
			if a.canHold(s, side) {
				return nil
			}
			could := func(p *Probe) bool { return s.reach(p.index).holds(side) }
			if why == nil && rule != probes.HoldNo && slices.ContainsFunc(a.probes, could) {
				why = a.whyNotSeen(s)
			}
		}
	}
	if why == nil {
		why = problem(agentpb.Problem_STEP_NOT_SEEN, nil)
	}
	return why
}

// abilities returns what the probes can do at the step, as messages.
func (a *Agent) abilities(s *stepInfo) (out []*agentpb.Ability) {
	for i, p := range a.probes {
		can := p.at(s)
		m := wire.AbilityOf(can)
		m.Probe, m.HoldEnter, m.HoldExit = uint32(i), string(s.rule(p.index, enter)), string(s.rule(p.index, exit))
		if can.Sees() || m.Unseen != nil {
			out = append(out, m)
		}
	}
	return out
}

// rule returns the catalogue's rule for a side, or HoldNo if the probe cannot stop the call there.
func (s *stepInfo) rule(probe uint8, side int) probes.HoldRule {
	if s.reach(probe).holds(side) {
		return s.hold[side]
	}
	return probes.HoldNo
}

// mayStop reports whether the probe that sees the call may stop it on a side. A call that two probes see is stopped by
// the first that can.
func (s *span) mayStop(side int) bool {
	return s.step.reach(s.probe).holds(side) && (s.same == nil || !s.step.reach(s.same.probe).holds(side))
}

// mayFail reports whether the probe that sees the call may make it fail.
func (s *span) mayFail() bool {
	return s.step.reach(s.probe).fails() && (s.same == nil || !s.step.reach(s.same.probe).fails())
}

// mark returns what an event of the call says of its probe: index plus one, or 0 for the step's first probe.
func (s *span) mark() uint8 {
	if s.step.isFirst(s.probe) {
		return 0
	}
	return s.probe + 1
}

// ProbeState is how a probe fares.
type ProbeState struct {
	Name  string
	State agentpb.ProbeState
}

// States returns the states of the agent's probes.
func (a *Agent) States() (out []ProbeState) {
	for _, p := range a.probes {
		out = append(out, ProbeState{p.name(), p.state.Load().state})
	}
	return out
}
