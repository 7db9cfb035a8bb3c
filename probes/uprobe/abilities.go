package uprobe

import (
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// Name is the probe's, in events.
const Name = "uprobe"

// Holds states where a probe may hold pods.
type Holds struct {
	// Allowed: the person allows holds.
	Allowed bool
	// Cannot, if set, is why this machine allows no holds.
	Cannot probes.Reason
	// Except are stages at whose steps another probe holds pods. The Reason says so.
	Except map[string]probes.Reason
}

// NoHold returns why no pod can be held inside a kubelet of the machine; none if pods can.
func (m *Machine) NoHold() (why probes.Reason) {
	if m.OwnPIDs {
		why = reasons.OwnPIDs.Reason()
	}
	return why
}

// decide fills in whether a pod can be held at a step. known: its goroutine shows whether it may be held.
func (h *Holds) decide(s *probes.Step, known bool, can *probes.Ability) {
	if why, ok := h.Except[s.Stage]; ok {
		can.NoHold = why
		return
	}
	if !h.Cannot.IsZero() {
		can.NoHold = h.Cannot
		return
	}
	if !h.Allowed {
		can.NoHold = reasons.NotAllowed.Reason()
		return
	}
	may := func(r probes.HoldRule) bool {
		return r == probes.HoldYes || r == probes.HoldWorker || r == probes.HoldOwn
	}
	can.HoldEnter, can.HoldExit = may(s.Hold.Enter), may(s.Hold.Exit)
	if (can.HoldEnter || can.HoldExit) && !known {
		can.HoldEnter, can.HoldExit = false, false
		can.NoHold = reasons.NoBeginning.Reason()
	}
}

// NoAbilities are the abilities of a probe that could not look into the kubelet. err is why.
func NoAbilities(err error) probes.Abilities {
	return abilities(reasons.NotOpened.With("error", err.Error()))
}

func abilities(notSeen probes.Reason) probes.Abilities {
	return probes.Abilities{
		Probe: Name, Knows: probes.Knows{Turns: true, Nesting: true, Workers: true},
		Steps: map[string]probes.Ability{}, NotSeen: notSeen,
	}
}
