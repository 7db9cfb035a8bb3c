package agent

import (
	"time"

	"github.com/podstep/podstep/probes"
)

// mayHold tells whether this goroutine may be stopped here, by the catalogue's
// rule and by what goroutine it is: without harm to other pods or, in a lab,
// while all of them wait.
func (a *Agent) mayHold(s *span, side int) bool {
	switch s.step.hold[side] {
	case probes.HoldYes, probes.HoldOwn:
		return true
	case probes.HoldWorker:
		return a.onWorker(s) || a.standsStill(s, side)
	case probes.HoldNode:
		return a.standsStill(s, side)
	}
	return false
}

// standsStill tells whether other pods wait while the call is held here. That
// may be in a lab only, and on the goroutine that the step is at home on:
// evictions and housekeeping come to some of these steps too, and are to go on.
func (a *Agent) standsStill(s *span, side int) bool {
	if !a.opts.Lab || s.role != s.step.role {
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
