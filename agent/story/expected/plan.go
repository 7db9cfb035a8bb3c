package expected

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// plan is what the runtime manager plans to do in a turn.
type plan struct {
	known          bool
	sandbox, start bool // the plan makes a sandbox, and starts containers
}

// lookForPlan is among how many first calls of the runtime manager's SyncPod the plan is looked for: it is one of its
// first.
const lookForPlan = 16

// planOf finds the plan in a call of the runtime manager's SyncPod, as of a position.
func (u *Usual) planOf(p *outline.Pod, call *history.Span, at int) (pl plan) {
	for i := call.Ordinal + 1; i < min(call.Ordinal+lookForPlan, p.Spans.End()); i++ {
		sp := u.h.Span(*p.Spans.At(i))
		if sp == nil || u.h.Role(sp.Step) != probes.RolePlan || u.h.Span(sp.Parent) != call {
			continue
		}
		if !sp.Over(at) || sp.Shape == history.NoExit {
			return pl
		}
		raw := u.h.Raw(sp.Exit)
		pl.known = raw != nil
		pl.sandbox = wire.Lookup(raw, "createSandbox").Flag()
		for _, f := range []string{"containersToStart", "initContainersToStart"} {
			v := wire.Lookup(raw, f)
			pl.start = pl.start || v.Found() && string(v.Text) != "[]"
		}
		return pl
	}
	return pl
}

// comes reports whether a step is expected, by the plan and by what is usual.
func (pl plan) comes(planned probes.Planned, usual bool) bool {
	if !pl.known {
		return usual
	}
	switch planned {
	case probes.PlannedStart:
		return pl.start
	case probes.PlannedSandbox:
		return pl.sandbox
	case probes.PlannedWithSandbox:
		return usual && pl.sandbox
	}
	return usual
}
