package probes

// Ability is what a probe can do at a step while it runs, and the reasons for what it cannot do. The zero value is
// that of a step that is not seen.
type Ability struct {
	// Entry and Exit: it sees the call begin, and end.
	Entry, Exit bool
	// Closely: it does so only for pods that somebody watches closely.
	Closely bool
	// Arguments and Results: it reads the step's Fields and Results, except those in Missing.
	Arguments, Results bool
	// Missing are the names of fields that it cannot read.
	Missing []string
	// HoldEnter and HoldExit: it can stop the call there. The catalogue, and what is known of the goroutine, decide
	// whether a pod may be held.
	HoldEnter, HoldExit bool
	// Fail: it can make the call return an error without doing its work.
	Fail bool

	// Unseen, NoHold and NoFail are the reasons why it does not see, hold or fail the call.
	Unseen, NoHold, NoFail Reason
}

// Sees reports whether anything of the step is seen.
func (a *Ability) Sees() bool { return a.Entry || a.Exit }

// Everything returns the ability of a probe that can do everything at a step.
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

// As returns the same abilities under another probe's name.
func (a Abilities) As(probe string) Abilities {
	a.Probe = probe
	return a
}

// At returns what the probe can do at a step.
func (a *Abilities) At(step string) Ability {
	if x, ok := a.Steps[step]; ok {
		return x
	}
	return Ability{Unseen: a.NotSeen}
}
