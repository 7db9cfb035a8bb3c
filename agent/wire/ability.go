package wire

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// AbilityOf returns what a probe can do at a step, as a message. No pod can be held there: what holds is the agent's to
// add.
func AbilityOf(can probes.Ability) *agentpb.Ability {
	return &agentpb.Ability{
		Entry: can.Entry, Exit: can.Exit, Closely: can.Closely, Arguments: can.Arguments, Results: can.Results, Missing: can.Missing,
		HoldEnter: string(probes.HoldNo), HoldExit: string(probes.HoldNo), Fail: can.Fail,
		Unseen: Reason(can.Unseen), NoHold: Reason(can.NoHold), NoFail: Reason(can.NoFail),
	}
}

// KnowsOf returns what a probe knows beside steps, as a message.
func KnowsOf(k probes.Knows) *agentpb.Knows {
	return &agentpb.Knows{Turns: k.Turns, Nesting: k.Nesting, Workers: k.Workers, Reports: k.Reports}
}
