package agent

import (
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
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
// unix nanoseconds; zero: it does not run.
type running [maxTimers]atomic.Int64

// Fields of steps that start timers: the grace period of the kill, in seconds.
var graceFields = []string{"gracePeriod", "gracePeriodOverride"}

// stopFields are those of a call that stops a container: what it gives the container.
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
func (a *Agent) startTimers(s *span) { s.setTimers(s.wall) }

// goesOn notes that the function of s was held at its entry and goes on: only now
// does it start its timers.
func (s *span) goesOn(at time.Time) {
	s.body = at.UnixNano()
	s.setTimers(s.body)
}

// endTimers notes that they run no more.
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

// budget is the first timer that a hold would trip.
type budget struct {
	timer *timer
	end   time.Time
}

// budgetOf finds the first timer that runs out if the call s stands still from
// now: of those that its step names, and the calls it happens in. nil: none runs.
func (a *Agent) budgetOf(s *span, p *pod, now time.Time) *budget {
	first := a.callerBudget(s, p, now)
	for up := s; up != nil; up = up.parent {
		for _, t := range up.step.timers {
			end, runs := t.end(s, p)
			if runs && end.After(now) && (first == nil || end.Before(first.end)) {
				first = &budget{t, end}
			}
		}
	}
	return first
}

// end is when the timer runs out for p. It does not run if the function that
// starts it is not under way: a hold at the entry of that very function, or at
// its exit, costs nothing of it.
func (t *timer) end(s *span, p *pod) (at time.Time, runs bool) {
	if t.sidecars && !hasSidecars(p) {
		return at, false
	}
	if from := s.parent.find(t.from); from != nil {
		if from.ended.Load() {
			return at, false
		}
		return time.Unix(0, max(from.wall, from.body)).Add(t.length(from, p)), true
	}
	if s.step.Name == t.from {
		return at, false
	}
	started := p.State.running[t.index].Load()
	return time.Unix(0, started).Add(t.length(nil, p)), started != 0
}

// find is the innermost call of that step, from s outwards, or nil.
func (s *span) find(step string) *span {
	for ; s != nil; s = s.parent {
		if s.step.Name == step {
			return s
		}
	}
	return nil
}

// length is how long the timer runs, if from started it.
func (t *timer) length(from *span, p *pod) time.Duration {
	if t.after > 0 {
		return t.after
	}
	if from != nil {
		return graceIn(from, graceFields, p)
	}
	return gracePeriod(p)
}

// graceIn is the grace period that one of the fields of a call states, or the pod's.
func graceIn(s *span, fields []string, p *pod) time.Duration {
	for _, name := range fields {
		if seconds, ok := wire.Lookup(s.fields(), name).Number(); ok {
			return time.Duration(seconds) * time.Second
		}
	}
	return gracePeriod(p)
}

// callerBudget is the deadline of whoever waits for the call, if it has one, less the
// time that the call needs for its work: at most half of what there is.
func (a *Agent) callerBudget(s *span, p *pod, now time.Time) *budget {
	if s.caller == nil {
		return nil
	}
	end, ok := s.caller.Deadline()
	if !ok {
		return nil
	}
	if isStandstill(s.caller) {
		return &budget{a.debugger, end}
	}
	needs := s.step.Hold.Needs
	if s.step.means == probes.RoleStop {
		needs += graceIn(s, stopFields, p)
	}
	return &budget{a.caller, end.Add(-min(needs, end.Sub(now)/2))}
}

// margin is how long before the timer a hold ends, so that the pod is under
// way again when it runs out.
func margin(left time.Duration) time.Duration { return min(5*time.Second, left/10) }

func (b *budget) proto(now time.Time) *agentpb.Budget {
	if b == nil {
		return nil
	}
	return &agentpb.Budget{Timer: b.timer.name, Left: durationpb.New(b.end.Sub(now))}
}
