package explain

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

func isNode(c *check) *Finding {
	if c.pod != 0 {
		return nil
	}
	return c.found(history.None, Phrase{Node, Args{}})
}

func isHeld(c *check) *Finding {
	if c.state != life.Held {
		return nil
	}
	return c.found(c.p.HeldAt, c.held())
}

// held says where the pod is held. The event of the hold may not have come yet.
func (c *check) held() Phrase {
	e, ok := c.h.Event(c.p.HeldAt)
	if !ok {
		return Phrase{Held, Args{"pod": c.name}}
	}
	step := c.h.Step(c.h.StepNamed(e.Step)).Title()
	switch {
	case c.p.Deleting:
		return Phrase{HeldDeleting, Args{"pod": c.name, "step": step}}
	case words.Short(e.Fields["on"]) == "exit":
		return Phrase{HeldAfter, Args{"pod": c.name, "step": step}}
	case !c.knows.Turns:
		return Phrase{HeldBeforeCall, Args{"pod": c.name, "step": step}}
	}
	return Phrase{HeldBefore, Args{"pod": c.name, "step": step}}
}

// isUnknown finds a pod that only an agent before the present one knew.
func isUnknown(c *check) *Finding {
	if c.p.Former == 0 {
		return nil
	}
	return c.found(history.None, Phrase{AgentUnknown, Args{"pod": c.name}})
}

func isRefused(c *check) *Finding {
	if !c.p.Refused {
		return nil
	}
	call, ok := c.h.LastCall(c.pod, c.h.StepFor(probes.RoleAdmit), c.h.End())
	if !ok {
		return c.found(history.None, Phrase{Refused, Args{"pod": c.name}})
	}
	return c.found(call.Exit, Phrase{RefusedReason, Args{"pod": c.name, "reason": call.Text("reason"), "message": call.Text("message")}})
}
