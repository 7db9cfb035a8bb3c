package agent

import (
	"slices"
	"time"

	"github.com/podstep/podstep/probes"
)

// mayHold reports whether this goroutine may be stopped here for p, by the
// catalogue's rule and by whose goroutine it is proven to be: without harm to
// other pods or, in a lab, while all of them wait.
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

// isForbidden reports whether the call happens in a step within which a pod is not
// to be held here, or in a function that is not the one that the catalogue was
// read from: there it is not known which locks are held.
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

// standsStill reports whether other pods wait while the call is held here. That
// may be in a lab only, and on the goroutine that the step is at home on:
// evictions and housekeeping come to some of these steps too, and are to go on.
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

// leaseOr is the lease that was asked for, or the default.
func leaseOr(asked time.Duration, node bool) time.Duration {
	switch {
	case asked > 0:
		return asked
	case node:
		return DefaultNodeLease
	}
	return DefaultLease
}

// Stops is where somebody may want pods stopped at a step.
type Stops struct {
	// Enter and Exit are the sides.
	Enter, Exit bool
	// Every: pods that are not known yet may be wanted too. Otherwise only those of Wanted are.
	Every bool
}

// Stops is what of the step somebody may want stopped that this probe can stop. A probe
// that has to prepare for it asks again after each call of what it gave to OnArmed, and
// now and then: what is wanted no more is not announced.
func (p *Probe) Stops(step string) (out Stops) {
	a := p.agent
	if a.holds.armed.Load() == 0 {
		return out
	}
	s := a.stepNamed(step)
	if s == nil || !s.reach[p.index].sees {
		return out
	}
	reach := s.reach[p.index]
	t := &a.points
	t.mu.RLock()
	defer t.mu.RUnlock()
	pending := int(a.holds.armed.Load()-a.holds.byLine.Load()) > len(t.all) // what is armed and no breakpoint
	sides := [2]bool{}
	for side := range sides {
		sides[side] = pending && s.hold[side] != probes.HoldNo && reach.holds[side]
	}
	for _, b := range t.all {
		if side := b.side(); b.steps[s.ID] && (reach.holds[side] || b.fails() && reach.fails) {
			sides[side], out.Every = true, true
		}
	}
	out.Enter, out.Exit = sides[enter], sides[exit]
	return out
}

// Stopping reports whether somebody may want a pod stopped before calls of that step which
// this probe sees. If not, Stop does nothing there.
func (p *Probe) Stopping(step string) bool { return p.Stops(step).Enter }

// Wanted are the uids of the pods that somebody wants to be held at their next place.
func (p *Probe) Wanted() (uids []string) {
	for _, pod := range p.agent.pods.All() {
		if w := pod.State.pending.Load(); w != nil && w.inside == 0 {
			uids = append(uids, pod.UID)
		}
	}
	return uids
}
