package reach

import (
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Ability is what a probe of an agent can do at a step.
type Ability struct {
	Probe string `json:"probe"`
	// Works says that the probe has not failed. The other fields say what it can do if it works.
	Works     bool     `json:"works"`
	Entry     bool     `json:"entry"`
	Exit      bool     `json:"exit"`
	Arguments bool     `json:"arguments"`
	Results   bool     `json:"results"`
	Missing   []string `json:"missing,omitempty"`
	// Closely says that the probe sees the step only in pods that are watched closely.
	Closely   bool   `json:"closely,omitempty"`
	HoldEnter string `json:"holdEnter"`
	HoldExit  string `json:"holdExit"`
	Fail      bool   `json:"fail"`
	// Unseen, NoHold and NoFail are the reasons why not, in the language that was asked for.
	Unseen string `json:"unseen,omitempty"`
	NoHold string `json:"noHold,omitempty"`
	NoFail string `json:"noFail,omitempty"`
}

// NewAbility puts the reasons into words of that language.
func NewAbility(p *agentpb.Probe, x *agentpb.Ability, lang words.Lang) Ability {
	why := func(r *agentpb.Reason) string { return lang.In(wire.Why(r).Text()) }
	out := Ability{
		Probe: p.GetName(), Works: wire.Works(p), Entry: x.GetEntry(), Exit: x.GetExit(), Arguments: x.GetArguments(), Results: x.GetResults(),
		Missing: x.GetMissing(), Closely: x.GetClosely(), HoldEnter: x.GetHoldEnter(), HoldExit: x.GetHoldExit(), Fail: x.GetFail(),
		Unseen: why(x.GetUnseen()), NoHold: why(x.GetNoHold()), NoFail: why(x.GetNoFail()),
	}
	if wire.Sees(x) && !out.Works {
		out.Unseen = lang.In(wire.Failure(p))
	}
	return out
}

// Words says in a few words what the probes can do: it names those that see the step. If none does, it says why: unseen.
func Words(all []Ability, unseen string) string {
	var seen []string
	for _, a := range all {
		if a.Works && (a.Entry || a.Exit) {
			seen = append(seen, a.words())
		}
	}
	switch {
	case len(seen) > 0:
		return strings.Join(seen, "; ")
	case unseen != "":
		return "no: " + unseen
	}
	return "no"
}

func (a *Ability) words() string {
	out := a.Probe
	add := func(is bool, word string) {
		if is {
			out += " " + word
		}
	}
	add(a.Entry && !a.Exit, "entry")
	add(a.Exit && !a.Entry, "exit")
	add(a.Arguments && a.Results, "values")
	add(a.Arguments && !a.Results, "arguments")
	add(a.Results && !a.Arguments, "results")
	no := string(probes.HoldNo)
	add(a.HoldEnter != no || a.HoldExit != no, "hold")
	add(a.Fail, "fail")
	add(a.Closely, "closely")
	return out
}
