//go:build linux

package uprobe

import (
	"slices"

	"github.com/podstep/podstep/probes"
)

// A pod's worker works for one pod all its life. In kubelets before v1.27 neither the function of its life nor the functions that
// end its turns have an argument with the pod's UID. Other calls that the worker makes name the pod, so one of them names it for
// all.

// namelessWorkers reports whether the plan reads no pod where a worker's life begins.
func (p *plan) namelessWorkers() bool {
	for _, s := range p.steps {
		if s.Story.Role == probes.RoleWorker && s.enter != nil {
			return !slices.ContainsFunc(s.enter.pods, func(s source) bool { return s.slot >= 0 })
		}
	}
	return false
}

// nameWorker completes a call of a pod's worker that is about to begin. It learns for which pod the worker works, if the call
// shows that, and otherwise gives the call the pod that it has learned.
func (c *calls) nameWorker(g *goroutine, call *Call) {
	if !c.nameless || !g.worker {
		return
	}
	if call.lacksUID() && g.pod != "" {
		call.Values[0] = probes.PodRef{UID: g.pod}
	}
	if call.uid() == "" {
		return
	}
	if call.Step.Story.Role == probes.RoleWork || call.Parent != nil && call.Parent == g.life() {
		g.pod = call.uid()
	}
	if life := g.unnamed; life != nil && g.pod != "" {
		g.unnamed, life.Values[0] = nil, probes.PodRef{UID: g.pod}
		c.handler.Enter(life)
	}
}

// waitsForName reports whether a call begins a worker's life, and has to wait until its pod is known before the handler gets it. A
// call at which a thread has stopped does not wait: the handler lets the thread go on.
func (c *calls) waitsForName(call *Call) bool {
	return c.nameless && call.Worker && call.Step.Story.Role == probes.RoleWorker && call.lacksUID() && call.Stopped == nil
}

// lacksUID reports whether a call's first value is the place of its pod's UID, and the UID could not be read.
func (c *Call) lacksUID() bool {
	return c.Step.Pod.Kind == probes.PodUID && !c.Step.Pod.Exit && c.uid() == ""
}

// life returns the call of the worker's whole life, or nil.
func (g *goroutine) life() *Call {
	if len(g.open) > 0 && g.open[0].Step.Story.Role == probes.RoleWorker {
		return g.open[0]
	}
	return nil
}
