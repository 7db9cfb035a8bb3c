package expected

import (
	"encoding/json"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// progress is how far the sandbox and the containers of a pod have come, as its calls and reports show.
type progress struct {
	names            []string // in the order in which they are started
	sandbox, stopped bool
	created, started map[string]bool
	ended            map[string]bool // by the latest event; true: the container has ended, or is being stopped
}

// progressOf looks back at what was done for the pod's containers, until its sandbox was last made.
func progressOf(h *history.History, p *outline.Pod, at int) *progress {
	g := &progress{names: containers(h, p, at), created: map[string]bool{}, started: map[string]bool{}, ended: map[string]bool{}}
	h.Back(p.Place, at, func(_ int, sp *history.Span) bool {
		if failed := sp.Failed && sp.Over(at); failed && !h.Reported(sp.Step) {
			return false
		}
		enter := h.Raw(sp.Enter)
		container := func() string { return p.Container(wire.Lookup(enter, "containerID").String()) }
		switch h.Role(sp.Step) {
		case probes.RoleSandbox, probes.RoleSandboxState:
			g.sandbox = true
			return true
		case probes.RoleStopSandbox:
			g.stopped = true
		case probes.RoleCreate:
			g.created[wire.Lookup(enter, "container").String()] = true
		case probes.RoleStart:
			g.noteStart(container())
			g.noteEnd(container(), false)
		case probes.RoleStop:
			g.noteEnd(container(), true)
		case probes.RoleContainerState:
			g.reported(wire.Lookup(enter, "container").String(), wire.Lookup(enter, "state").String())
		}
		return false
	})
	return g
}

// reported takes a container's state from a report, unless calls have shown it: they may have been made before the
// probe came.
func (g *progress) reported(name, state string) {
	if state != "running" && state != "terminated" {
		return
	}
	g.sandbox = true
	g.noteStart(name)
	g.noteEnd(name, state == "terminated")
}

// noteStart notes that a container was started at some time.
func (g *progress) noteStart(name string) { g.created[name], g.started[name] = true, true }

// noteEnd notes whether a container has ended. Events come from the latest back, so
// that the first counts.
func (g *progress) noteEnd(name string, ended bool) {
	if _, known := g.ended[name]; !known {
		g.ended[name] = ended
	}
}

// containers returns the names of the pod's containers, as in its object.
func containers(h *history.History, p *outline.Pod, at int) (names []string) {
	sp := h.Span(p.Bound)
	if sp == nil || sp.Enter >= at {
		return nil
	}
	if json.Unmarshal(wire.Lookup(h.Raw(sp.Enter), "containers").Text, &names) != nil {
		return nil
	}
	return names
}
