package wire

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Knows is what the agent's probes see.
func Knows(info *agentpb.InfoResponse) probes.Knows {
	in := info.GetProbe() != "cri"
	k := probes.Knows{Turns: in, Nesting: in, Workers: in}
	for _, s := range info.GetSteps() {
		if s.GetName() == "reported.container" && s.GetSeen() {
			k.Reports = true
		}
	}
	return k
}
