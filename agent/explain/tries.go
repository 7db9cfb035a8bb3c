package explain

import (
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// triesOf says how often something failed, if more than once.
func triesOf(n uint32) []Phrase {
	if n < 2 {
		return nil
	}
	return []Phrase{{Tries, Args{"times": n, "try": Nth(n)}}}
}

// restarts says how often a container was started again, if it was and that is known.
func restarts(t life.Container) []Phrase {
	if t.Restarts <= 0 {
		return nil
	}
	return []Phrase{{Restarts, Args{"restarts": t.Restarts}}}
}

// container returns the container that an error of a turn is about.
func (c *check) container(err string) (t life.Container, ok bool) {
	m := failedTo.FindStringSubmatch(err)
	if m == nil {
		return t, false
	}
	return c.p.Container(m[2])
}

// tries counts the failures behind an error of a turn: pulls or starts of the container that it
// is about, or else turns.
func (c *check) tries(err string) []Phrase {
	t, ok := c.container(err)
	switch {
	case ok && t.BackOff == life.CrashBackOff:
		return restarts(t)
	case ok:
		return triesOf(t.Failed)
	}
	return triesOf(c.p.Tries)
}

// next says when a container's back-off ends, as far as that is known, and when the worker
// looks at the pod again. That look is a try only if no back-off is in its way.
func (c *check) next(err string) (out []Phrase) {
	t, ok := c.container(err)
	if !ok || t.BackOff == life.NoBackOff {
		return c.nextTry()
	}
	if t.Until > c.now {
		out = append(out, Phrase{BackOffEnds, Args{"in": time.Duration(t.Until - c.now)}})
	}
	if t.Until != 0 && t.Until <= c.p.Next {
		return append(out, c.nextTry()...)
	}
	return append(out, c.nextLook()...)
}

// nextTry says when the worker tries again, if that is known.
func (c *check) nextTry() []Phrase {
	if c.p.Next <= c.now {
		return nil
	}
	return []Phrase{{NextTry, Args{"in": time.Duration(c.p.Next - c.now)}}}
}

// nextLook says when the worker looks at the pod again, if that is known.
func (c *check) nextLook() []Phrase {
	if c.p.Next <= c.now {
		return nil
	}
	return []Phrase{{NextLook, Args{"in": time.Duration(c.p.Next - c.now)}}}
}

// callTries says how often the last failed call has failed.
func (c *check) callTries() []Phrase {
	if c.h.Role(c.p.FailStep) != probes.RolePull {
		return triesOf(c.p.Tries)
	}
	head, _ := c.h.Header(c.p.Failed)
	call := c.h.Call(c.h.SpanOf(c.p.Failed, &head), c.at)
	for _, l := range c.p.Pulls {
		if call.Span != nil && l.Image == call.Text("image") {
			return triesOf(l.Failed)
		}
	}
	return nil
}

// pullsFailed returns how often pulls failed of the image that the kubelet's message names, or
// of the pod's only image. It is 0 if that is not known.
func (c *check) pullsFailed(message string) uint32 {
	for _, l := range c.p.Pulls {
		if len(c.p.Pulls) == 1 || strings.Contains(message, `"`+l.Image+`"`) {
			return l.Failed
		}
	}
	return 0
}

// runsAgain finds a container that has crashed again and again and is up now.
func runsAgain(c *check) *Finding {
	p, more, ok := c.again()
	if !ok {
		return nil
	}
	if c.knows.Turns {
		return c.found(c.last(probes.RoleContainer), p, more...)
	}
	return c.found(c.lastEnter(probes.RoleContainerState), p, more...)
}

func (c *check) again() (p Phrase, more []Phrase, ok bool) {
	if c.state != life.Retrying || c.p.Failed != history.None || c.p.Blocked != history.None {
		return p, nil, false
	}
	t, ok := c.p.Loop(c.now)
	if !ok {
		return p, nil, false
	}
	return Phrase{ContainerAgain, Args{
		"pod": c.name, "container": words.OneLine(t.Name), "took": history.Since(t.Up, c.now), "reset": life.BackOffReset,
	}}, restarts(t), true
}
