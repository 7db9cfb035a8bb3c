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
