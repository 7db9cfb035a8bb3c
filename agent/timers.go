package agent

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// timer is a timer of the catalogue, ready to use.
type timer struct {
	index int
	name  string
	from  string        // the step whose function starts it
	after time.Duration // zero: the grace period of the kill that from is part of
	// sidecars: only pods with sidecars have it.
	sidecars bool
}

// maxTimers bounds the timers of the catalogue.
const maxTimers = 8

// running are the timers of a pod that run, by index: when each was started, in
// nanoseconds since the agent began; zero: it does not run.
type running [maxTimers]atomic.Int64

// graceFields are the fields, of a step that starts timers, that have the grace period of the kill, in seconds.
var graceFields = []string{"gracePeriod", "gracePeriodOverride"}

// stopFields are the fields, of a call that stops a container, that have the time it gives the container, in seconds.
var stopFields = []string{"timeout"}

// loadTimers reads the timers of the catalogue.
func (a *Agent) loadTimers(c *probes.Catalogue) error {
	if len(c.Timers) > maxTimers {
		return fmt.Errorf("the catalogue has %d timers, the agent has room for %d", len(c.Timers), maxTimers)
	}
	a.timers = make([]timer, len(c.Timers))
	for i, t := range c.Timers {
		out := &a.timers[i]
		*out = timer{index: i, name: t.Name, from: t.From, sidecars: t.Sidecars}
		switch t.After {
		case probes.AfterCaller:
			a.caller = out
		case probes.AfterDebugger:
			a.debugger = out
		case probes.AfterGrace:
		default:
			d, err := time.ParseDuration(t.After)
			if err != nil {
				return fmt.Errorf("read timer %s: %w", t.Name, err)
			}
			out.after = d
		}
	}
	if a.caller == nil || a.debugger == nil {
		return fmt.Errorf("the catalogue has no timer of calls, or of debuggers")
	}
	return nil
}

// startTimers notes that the function of s starts its timers.
func (a *Agent) startTimers(s *span) { s.setTimers(max(1, s.start)) }

// goesOn notes that the function of s was held at its entry and goes on: only now
// does it start its timers.
func (a *Agent) goesOn(s *span, at time.Time) {
	s.body = max(1, int64(at.Sub(a.started)))
	s.setTimers(s.body)
}

// endTimers notes that the timers of s run no more.
func (a *Agent) endTimers(s *span) { s.setTimers(0) }

func (s *span) setTimers(at int64) {
	if len(s.step.starts) == 0 {
		return
	}
	if p := s.only(); p != nil {
		for _, t := range s.step.starts {
			p.State.running[t.index].Store(at)
		}
	}
}

// budgetOf returns the timer that runs out first if the call s stands still from now on. It looks at the timers of the
// step, at those of the steps around it, and at the caller's deadline. nil: none runs.
func (a *Agent) budgetOf(s *span, p *pod, now time.Time) *holding.Budget {
	first := a.callerBudget(s, p, now)
	for up := s; up != nil; up = up.parent {
		for _, t := range up.step.timers {
			at, runs := t.end(s, p)
			end := a.started.Add(time.Duration(at))
			if runs && end.After(now) && (first == nil || end.Before(first.End)) {
				first = &holding.Budget{Timer: t.name, End: end}
			}
		}
	}
	return first
}

// end returns when the timer runs out for p, in nanoseconds since the agent began, and whether it runs. It runs only while the function that starts it is
// under way: a hold at the entry of that very function, or at its exit, costs nothing of it.
func (t *timer) end(s *span, p *pod) (at int64, runs bool) {
	if t.sidecars && !hasSidecars(p) {
		return at, false
	}
	if from := s.parent.findStep(t.from); from != nil {
		if from.ended.Load() {
			return at, false
		}
		return max(from.start, from.body) + int64(t.length(from, p)), true
	}
	if s.step.Name == t.from {
		return at, false
	}
	started := p.State.running[t.index].Load()
	return started + int64(t.length(nil, p)), started != 0
}

// findStep returns the innermost call of that step, from s outwards, or nil.
func (s *span) findStep(step string) *span {
	for ; s != nil; s = s.parent {
		if s.step.Name == step {
			return s
		}
	}
	return nil
}

// length returns how long the timer runs. from is the call that started it, or nil.
func (t *timer) length(from *span, p *pod) time.Duration {
	if t.after > 0 {
		return t.after
	}
	if from != nil {
		return graceIn(from, graceFields, p)
	}
	return gracePeriod(p)
}

// graceIn returns the grace period that one of the fields of a call states, or the pod's.
func graceIn(s *span, fields []string, p *pod) time.Duration {
	for _, name := range fields {
		if seconds, ok := wire.Lookup(s.fields(), name).Number(); ok {
			return time.Duration(seconds) * time.Second
		}
	}
	return gracePeriod(p)
}

// callerBudget returns the deadline of the call's caller, if it has one, less the time that the call needs for its
// work: at most half of the time that is left. A debugger's standstill ends at its deadline.
func (a *Agent) callerBudget(s *span, p *pod, now time.Time) *holding.Budget {
	if s.caller == nil {
		return nil
	}
	end, ok := s.caller.Deadline()
	if !ok {
		return nil
	}
	if isStandstill(s.caller) {
		return &holding.Budget{Timer: a.debugger.name, End: end}
	}
	needs := s.step.Hold.Needs
	if s.step.means == probes.RoleStop {
		needs += graceIn(s, stopFields, p)
	}
	return &holding.Budget{Timer: a.caller.name, End: end.Add(-min(needs, end.Sub(now)/2))}
}
