package agent

import (
	"sync/atomic"
)

// stageBoot is the stage of the kubelet's start.
const stageBoot = "boot"

// runs is what the agent knows of the goroutine that makes a call.
type runs struct {
	// goroutine is the number that hook.Goroutine, or a probe outside of the kubelet, gives the goroutine; zero: it is
	// not known.
	goroutine uintptr
	role      uint8
	// proven: a step that encloses the call says whose goroutine it is. Otherwise the role is just the usual one of the
	// call's step.
	proven bool
	// worker is the pod whose worker makes the call, or waits for the goroutine that makes it. nil: that is proven for
	// no pod's worker.
	worker *pod
	// ended is set when the function returns. What its goroutines do from then on
	// is no longer its own.
	ended atomic.Bool
}

// findGoroutine finds out whose goroutine makes the call s. goroutine is its number. cur is the innermost call of this
// goroutine, or of the one that started it; it may be nil.
func (a *Agent) findGoroutine(s, cur *span, goroutine uintptr) {
	s.goroutine = goroutine
	if s.step.Root {
		s.role = s.step.role
		// The goroutine of Kubelet.Run becomes the sync loop's. No other turns from
		// one kind into another.
		s.proven = !cur.encloses(s) || cur.step.Stage == stageBoot || cur.role == s.role && s.role != a.worker
		return
	}
	s.parent = cur
	switch {
	case cur.encloses(s):
		s.role, s.proven, s.worker = cur.role, cur.proven, cur.worker
	case s.step.Starts:
		s.role, s.proven = s.step.role, true
	default:
		s.role = a.unproven(s.step)
	}
}

// encloses reports whether the goroutine of s counts as the goroutine of up: it is the same, or up started it and waits
// for it. A call that has ended encloses nothing.
func (up *span) encloses(s *span) bool {
	return up != nil && !up.ended.Load() && (up.goroutine == s.goroutine || up.step.Awaits)
}

// unproven returns the role of a goroutine of which only the step is known. It never assumes a pod's worker, even at a
// step to which mostly workers come.
func (a *Agent) unproven(step *stepInfo) uint8 {
	switch a.roles.names[step.role] {
	case roleWorker, roleKill:
		return a.other
	}
	return step.role
}

// onWorkerOf reports whether the worker of p makes the call, or waits for the goroutine that makes it. Stepping stays
// on the worker: health probes and volume operations go on beside it, and have breakpoints of their own.
func (s *span) onWorkerOf(p *pod) bool { return s.worker != nil && s.worker == p }
