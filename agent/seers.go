package agent

import (
	"fmt"
	"sync/atomic"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/probes"
)

// reach is what a probe can do at a step, as the hot path needs it: a set of the bits below.
type reach uint32

const (
	reachSees reach = 1 << iota
	reachHoldsEnter
	reachHoldsExit
	reachFails
	reachClosely
)

func newReach(can probes.Ability) (out reach) {
	if !can.Sees() {
		return 0
	}
	out = reachSees
	if can.HoldEnter {
		out |= reachHoldsEnter
	}
	if can.HoldExit {
		out |= reachHoldsExit
	}
	if can.Fail {
		out |= reachFails
	}
	if can.Closely {
		out |= reachClosely
	}
	return out
}

func (r reach) sees() bool          { return r&reachSees != 0 }
func (r reach) holds(side int) bool { return r&(reachHoldsEnter<<side) != 0 }
func (r reach) fails() bool         { return r&reachFails != 0 }
func (r reach) closely() bool       { return r&reachClosely != 0 }

// seers are the probes that see a step. They may change when another kubelet is started in place of the one that the
// probes look at: it may be of another version.
type seers struct {
	reach  []atomic.Uint32 // by probe
	shared atomic.Bool     // several probes see it
	// first is the first probe that sees it, plus one; zero: none does.
	first atomic.Uint32
}

// Values of seers.first that are no probe's number: nobody has looked yet; and it was not always the same probe, since
// the agent was started.
const (
	unknown = maxProbes + 1 + iota
	changed
)

func newSeers(probes int) *seers {
	out := &seers{reach: make([]atomic.Uint32, probes)}
	out.first.Store(unknown)
	return out
}

// findSeers finds out what each probe can do at each step.
func (a *Agent) findSeers() {
	for i := range a.steps {
		s := &a.steps[i]
		n, first := 0, uint32(0)
		for j, p := range a.probes {
			r := newReach(p.at(s))
			s.seers.reach[j].Store(uint32(r))
			if r.sees() && p.works() {
				if n++; n == 1 {
					first = uint32(j) + 1
				}
			}
		}
		s.seers.shared.Store(n > 1)
		if !s.seers.first.CompareAndSwap(unknown, first) && s.seers.first.Load() != first {
			s.seers.first.Store(changed)
		}
	}
}

// isFirst reports whether an event need not name the probe that saw it: whenever a client has asked the agent for its
// probes, this one was the first that sees the step.
func (s *stepInfo) isFirst(probe uint8) bool { return s.seers.first.Load() == uint32(probe)+1 }

// reach returns what a probe can do at the step.
func (s *stepInfo) reach(probe uint8) reach { return reach(s.seers.reach[probe].Load()) }

// keepsFields reports whether the fields of a call's enter are needed after the enter event. Two sights of one call are
// matched by them.
func (s *stepInfo) keepsFields() bool { return s.keeps || s.seers.shared.Load() }

// SetKubelet sets the version of the kubelet that is watched. If it is another one, clients are told: the state of a probe
// is reported once more, since some probes go on as if nothing had changed.
func (a *Agent) SetKubelet(version string) {
	if old := a.kubelet.Swap(&version); old == nil || *old == version || len(a.probes) == 0 {
		return
	}
	p := a.probes[0]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report()
}

// Kubelet returns that version.
func (a *Agent) Kubelet() string { return *a.kubelet.Load() }

// SetAbilities sets what the agent's probes can do, by their names. Their names and number stay. Clients are told of it
// with the next state of a probe.
func (a *Agent) SetAbilities(all []probes.Abilities) {
	a.renewing.Lock()
	defer a.renewing.Unlock()
	for i := range all {
		if p := a.Probe(all[i].Probe); p != nil {
			p.can.Store(&all[i])
		}
	}
	a.findSeers()
	a.noteIdle()
}

// whyNotAt returns why the breakpoint cannot act at a step with the present kubelet; nil: it can.
func (a *Agent) whyNotAt(s *stepInfo, b *breakpoints.Breakpoint) *agentpb.Problem {
	side, fails := b.Side(), b.Fails()
	switch {
	case !a.sees(s) && s.hold[side] != probes.HoldNo:
		return a.whyNotSeen(s)
	case !b.Passes() && !a.canHold(s, side) && !(fails && s.failsUnheld()):
		return a.whyNoHold(s, side)
	case !a.sees(s):
		return a.whyNotSeen(s)
	case fails && !a.canFail(s):
		return a.whyNoFail(s)
	case b.Snaps() && s.Symbol == "":
		return problem(agentpb.Problem_NO_STACK, nil)
	}
	return nil
}

// noteIdle notes which breakpoints act nowhere any more: the kubelet is another one than when they were added. The caller
// holds renewing.
func (a *Agent) noteIdle() {
	for _, b := range a.points.List() {
		was := b.Idle
		b.Idle = len(b.Steps) > 0
		for id := range b.Steps {
			b.Idle = b.Idle && a.whyNotAt(&a.steps[id], b) != nil
		}
		if b.Idle && !was {
			a.Note(fmt.Sprintf("breakpoint %d, at %s, acts nowhere in this kubelet, %s; podstep steps --agent has the reasons", b.ID, b.Spec.GetStep(), a.Kubelet()))
		}
	}
}
