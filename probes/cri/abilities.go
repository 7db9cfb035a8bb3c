package cri

import (
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// Abilities returns the abilities of a probe that the calls pass through. It reads request and answer, may keep the
// request back, and may answer in the runtime's place. No pod is held after a call.
func Abilities(c *probes.Catalogue) probes.Abilities { return abilities(c, false) }

// AllAbilities returns the Abilities of a probe that also shows the calls of Others.
func AllAbilities(c *probes.Catalogue) probes.Abilities { return abilities(c, true) }

func abilities(c *probes.Catalogue, all bool) probes.Abilities {
	out := probes.Abilities{Probe: "cri", Steps: map[string]probes.Ability{}}
	for i := range c.Steps {
		s := &c.Steps[i]
		switch m := OfStep(s.Name); {
		case m != nil:
			can := probes.Everything()
			can.HoldExit = false
			if can.HoldEnter = slices.Contains(holdable, m.rpc); !can.HoldEnter {
				can.NoHold = reasons.Unholdable[m.rpc].Reason()
			}
			out.Steps[s.Name] = can
		case s.Name == Other:
			out.Steps[s.Name] = otherAbility(all)
		case s.Seen == probes.ByRuntime:
			why := reasons.Listed.Reason()
			out.Steps[s.Name] = probes.Ability{Entry: true, Exit: true, Arguments: true, Results: true, NoHold: why, NoFail: why}
		case !s.Outside():
			why, ok := reasons.InsideOf[s.Stage]
			if !ok {
				why = reasons.Inside
			}
			out.Steps[s.Name] = probes.Ability{Unseen: why.Reason()}
		}
	}
	return out
}

// otherAbility returns what the probe can do at Other. shows is whether it is to show all calls.
func otherAbility(shows bool) probes.Ability {
	if !shows {
		return probes.Ability{Unseen: reasons.NotAsked.Reason()}
	}
	no := reasons.Bare.Reason()
	return probes.Ability{Entry: true, Exit: true, Arguments: true, Results: true, NoHold: no, NoFail: no}
}
