package probes

// Ability is what a probe can do at a step while it runs, and why not. The zero
// value is that of a step which is not seen.
type Ability struct {
	// Entry and Exit: it sees the call begin, and end.
	Entry, Exit bool
	// Arguments and Results: it reads the step's Fields and Results, but for
	// Missing.
	Arguments, Results bool
	// Missing are the names of fields that it cannot read.
	Missing []string
	// HoldEnter and HoldExit: it can stop the call there. Whether a pod may be held
	// is for the catalogue to say, and for what is known of the goroutine.
	HoldEnter, HoldExit bool
	// Fail: it can have the call return an error without doing its work.
	Fail bool

	// Unseen, NoHold and NoFail are why not.
	Unseen, NoHold, NoFail Reason
}

// Sees reports whether anything of the step is seen.
func (a *Ability) Sees() bool { return a.Entry || a.Exit }

// Everything is the ability of a probe that the step hides nothing from.
func Everything() Ability {
	return Ability{Entry: true, Exit: true, Arguments: true, Results: true, HoldEnter: true, HoldExit: true, Fail: true}
}

// Knows is what a probe knows of a pod's story beside its steps.
type Knows struct {
	// Turns: when a turn of the pod's worker begins and ends.
	Turns bool
	// Nesting: in which call a call happens.
	Nesting bool
	// Workers: on whose goroutine a call runs.
	Workers bool
	// Reports: what the cluster says of the pod.
	Reports bool
}

// Abilities are what a probe can do: data, from which an agent, its clients and
// the screen show what to expect.
type Abilities struct {
	// Probe is the probe's name, the one in its events.
	Probe string
	Knows Knows
	// Steps are its abilities by the step's name. A step that is missing is not
	// seen, for the reason NotSeen.
	Steps map[string]Ability
	// NotSeen is the reason for steps that are missing.
	NotSeen Reason
}

// As are the same abilities, of a probe of another name.
func (a Abilities) As(probe string) Abilities {
	a.Probe = probe
	return a
}

// At is what the probe can do at a step.
func (a *Abilities) At(step string) Ability {
	if x, ok := a.Steps[step]; ok {
		return x
	}
	return Ability{Unseen: a.NotSeen}
}
