package agent

import (
	"slices"
	"time"

	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/probes"
)

// mayHold reports whether this goroutine may be stopped here for p. That depends on the catalogue's rule, and on the
// goroutine's proven owner: other pods must come to no harm, except that in a lab all of them may have to wait.
func (a *Agent) mayHold(s *span, p *pod, side int) bool {
	if s.isForbidden() || !s.mayStop(side) {
		return false
	}
	switch s.step.hold[side] {
	case probes.HoldYes, probes.HoldWorker:
		return s.onWorkerOf(p) || a.standsStill(s, side)
	case probes.HoldOwn:
		return s.proven && s.role == s.step.role
	case probes.HoldNode:
		return a.standsStill(s, side)
	}
	return false
}

// isForbidden reports whether the call happens within a step in which the catalogue forbids this hold, or in a function
// that differs from the one that the catalogue was read from: nobody knows which locks are held there.
func (s *span) isForbidden() bool {
	if s.step.differs {
		return true
	}
	for up := s.parent; up != nil; up = up.parent {
		if up.step.differs || slices.Contains(s.step.Hold.NotWithin, up.step.Name) {
			return true
		}
	}
	return false
}

// standsStill reports whether other pods wait while the call is held here. Such a hold is allowed only in a lab, and
// only on the step's own goroutine: evictions and housekeeping come to some of these steps too, and must go on.
func (a *Agent) standsStill(s *span, side int) bool {
	if !a.opts.Lab || !s.proven || s.role != s.step.role {
		return false
	}
	switch s.step.hold[side] {
	case probes.HoldNode:
		return true
	case probes.HoldWorker:
		return a.roles.names[s.role] == roleSyncLoop
	}
	return false
}

// leaseOr returns the lease that was asked for, or the default.
func leaseOr(asked time.Duration, node bool) time.Duration {
	switch {
	case asked > 0:
		return asked
	case node:
		return DefaultNodeLease
	}
	return DefaultLease
}

// Stops says at which sides of a step somebody may want pods stopped.
type Stops struct {
	// Enter and Exit are the sides.
	Enter, Exit bool
	// Every: any pod may be wanted, even one that is not known yet. Otherwise only the pods of Probe.Wanted are.
	Every bool
}

// Stops returns the sides of the step at which somebody may want a pod stopped and this probe can stop it. A probe that
// has to prepare for a stop asks again whenever the function that it gave to OnArmed is called. It also asks now and
// then, because nothing announces that a stop is no longer wanted.
func (p *Probe) Stops(step string) (out Stops) {
	a := p.agent
	if a.holds.Armed() == 0 {
		return out
	}
	s := a.stepNamed(step)
	if s == nil || !s.reach(p.index).sees() {
		return out
	}
	reach := s.reach(p.index)
	sides := [2]bool{}
	a.points.Stopping(func(all []*breakpoints.Breakpoint) {
		pending := int(a.holds.ArmedAtSteps()) > len(all) // more is armed than breakpoints and holds at lines
		for side := range sides {
			sides[side] = pending && s.hold[side] != probes.HoldNo && reach.holds(side)
		}
		for _, b := range all {
			if side := b.Side(); b.IsAtStep(s.ID) && (reach.holds(side) || b.Fails() && reach.fails()) {
				sides[side], out.Every = true, true
			}
		}
	})
	out.Enter, out.Exit = sides[enter], sides[exit]
	return out
}

// Stopping reports whether somebody may want a pod stopped at the entry of that step and this probe can stop it. If
// not, Stop does nothing there.
func (p *Probe) Stopping(step string) bool { return p.Stops(step).Enter }

// Wanted returns the uids of the pods that somebody wants held at their next step.
func (p *Probe) Wanted() (uids []string) {
	for _, pod := range p.agent.pods.All() {
		if w := pod.State.holding.Pending(); w != nil && w.Goroutine == 0 {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}
