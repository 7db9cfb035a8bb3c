package expected

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
)

// Call is a call to the runtime that is expected.
type Call struct {
	Step      history.StepID
	Container string // its name; empty: the call is about the sandbox
}

// maxExpected bounds how many calls are listed.
const maxExpected = 40

// Calls lists the calls to the runtime that a pod still needs in a chapter, as of a position where its state is now.
// It is for probes that see no turns. It leaves out calls that the probe does not see.
func Calls(h *history.History, p *outline.Pod, now *life.Pod, c outline.Chapter, at int) (out []Call) {
	node := p.Place == 0
	if node || now.Removed || now.Ended && c != outline.Termination || c == outline.Running {
		return nil
	}
	add := func(r probes.Role, container string) {
		id := h.StepFor(r)
		if h.EpochBefore(at).Sees(id, at) && len(out) <= maxExpected {
			out = append(out, Call{id, container})
		}
	}
	done := progressOf(h, p, at)
	if c == outline.Termination {
		done.termination(add)
	} else {
		done.creation(add)
	}
	return out
}

func (g *progress) creation(add func(probes.Role, string)) {
	if !g.sandbox {
		add(probes.RoleSandbox, "")
	}
	for _, name := range g.names {
		if !g.created[name] {
			add(probes.RoleCreate, name)
		}
		if !g.started[name] {
			add(probes.RoleStart, name)
		}
	}
}

func (g *progress) termination(add func(probes.Role, string)) {
	if !g.sandbox || g.stopped {
		return
	}
	for _, name := range g.names {
		if g.started[name] && !g.ended[name] {
			add(probes.RoleStop, name)
		}
	}
	add(probes.RoleStopSandbox, "")
}
