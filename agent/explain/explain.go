package explain

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// Story is what is known of the pods of a session.
type Story struct {
	History *history.History
	Lives   *life.Lives
}

// Position is a place in a story: a position in its history, and the session time at that position.
type Position struct {
	At  int
	Now int64
}

// Findings returns why a pod is where it is. pod is the pod's place in the history. The result
// is the finding of the first rule that has one. It is never empty, since the last rule always
// has one.
func Findings(s Story, pod int, at Position) []Finding {
	c := newCheck(s, pod, at)
	for _, rules := range [][]rule{rulesOfAll, c.rules()} {
		for _, r := range rules {
			if f := r(c); f != nil {
				f.State, f.Since = c.state, c.since
				return []Finding{*f}
			}
		}
	}
	return nil
}

// A rule finds one reason. It returns nil if that is not the reason.
type rule func(*check) *Finding

// rulesOfAll come first, whatever the probes see.
var rulesOfAll = []rule{isNode, isHeld, isUnknown, isRefused}

// rules returns the rules that come after rulesOfAll, by what the present probes see.
func (c *check) rules() []rule {
	if c.knows.Turns {
		return rulesOfTurns
	}
	return rulesOfCalls
}

// check is a pod that rules look at.
type check struct {
	h     *history.History
	lives *life.Lives
	world *life.World
	at    int
	now   int64
	knows probes.Knows

	pod   int
	name  string
	p     *life.Pod
	state life.State
	since int64
}

func newCheck(s Story, pod int, at Position) *check {
	c := &check{
		h: s.History, lives: s.Lives, world: s.Lives.At(at.At), at: at.At, now: at.Now, knows: s.History.Knows(at.At),
		pod: pod, name: s.History.Pod(pod).Entity.Name,
	}
	c.p = c.world.Pod(pod)
	c.state, c.since = c.lives.StateAt(c.world, pod, c.now)
	return c
}

// waits reports whether the pod waits, for however long: nothing fails, and nobody does anything for it.
func (c *check) waits() bool {
	return c.state == life.Waiting || c.state == life.Stuck && c.p.At == history.None && c.p.Failed == history.None
}

// found makes a finding that the event at pos shows. pos may be history.None: no event shows it.
func (c *check) found(pos int, p Phrase, more ...Phrase) *Finding {
	return &Finding{Phrase: p, More: more, Evidence: c.evidence(pos)}
}

// last returns the event that ended the pod's last call of a role, or None.
func (c *check) last(r probes.Role) int {
	if call, ok := c.h.LastCall(c.pod, c.h.StepFor(r), c.at); ok {
		return call.Exit
	}
	return history.None
}

// lastEnter returns the event that began the pod's last call of the first of these roles that
// has one, or None.
func (c *check) lastEnter(roles ...probes.Role) int {
	return c.h.LastEnter(c.pod, c.at, roles...)
}

// failed returns the error of the last turn or call that failed.
func (c *check) failed() string {
	e, _ := c.h.Event(c.p.Failed)
	return e.Error
}
