package explain

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
)

// Trouble returns the finding whose Brief stands in a pod's row in a list. It is nil if the pod
// is in no trouble. Trouble looks only at the events that the pod's life refers to, and gives
// no evidence: a list asks for all its pods in every frame.
//
// For a pod in a call that has failed before, Trouble returns the failure, not the call.
func Trouble(s Story, pod int, at Position) *Finding {
	if pod == 0 {
		return nil
	}
	c := newCheck(s, pod, at)
	for _, r := range []rule{troubleKept, troubleHeld, troubleRefused, troubleOfCalls, troubleRetrying, troubleAgain, troubleInCall} {
		if f := r(c); f != nil {
			f.State, f.Since = c.state, c.since
			return f
		}
	}
	return nil
}

func troubleKept(c *check) *Finding {
	if !c.waits() || !c.lives.Lingers(c.p) {
		return nil
	}
	if names := c.finalizers(); names != "" {
		return &Finding{Phrase: Phrase{Finalizers, Args{"pod": c.name, "names": names}}}
	}
	return nil
}

func troubleHeld(c *check) *Finding {
	if c.state != life.Held {
		return nil
	}
	return &Finding{Phrase: c.held()}
}

func troubleRefused(c *check) *Finding {
	if !c.p.Refused {
		return nil
	}
	return &Finding{Phrase: Phrase{Refused, Args{"pod": c.name}}}
}

// troubleOfCalls is for probes that see no turns.
func troubleOfCalls(c *check) *Finding {
	if c.knows.Turns || c.state > life.Retrying {
		return nil
	}
	if c.p.Blocked != history.None {
		return &Finding{Phrase: c.blocked(), More: c.blockedTries()}
	}
	if c.p.Failed != history.None {
		return &Finding{Phrase: c.failedCall(), More: c.callTries()}
	}
	if f := troubleAgain(c); f != nil {
		return f
	}
	if p, ok := c.warned(); ok {
		return &Finding{Phrase: p}
	}
	if c.p.At == history.None {
		return &Finding{Phrase: Phrase{CallNone, Args{}}}
	}
	return nil
}

func troubleRetrying(c *check) *Finding {
	if c.p.Failed == history.None || c.state > life.Retrying {
		return nil
	}
	err := c.failed()
	return &Finding{Phrase: c.retrying(err), More: c.tries(err)}
}

func troubleAgain(c *check) *Finding {
	p, more, ok := c.again()
	if !ok {
		return nil
	}
	return &Finding{Phrase: p, More: more}
}

func troubleInCall(c *check) *Finding {
	if c.state > life.Retrying {
		return nil
	}
	return &Finding{Phrase: Phrase{CallAt, Args{"pod": c.name, "step": c.h.Step(c.p.Step).Title(), "took": history.Since(c.p.Since, c.now)}}}
}
