package reach

import (
	"fmt"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Text says what the probe with that index can do, and how many steps of how many it sees.
// Steps that are no function of the kubelet count only for the probes that see them.
func Text(info *agentpb.InfoResponse, probe int) (text string, sees, all int) {
	holds := 0
	for _, s := range info.GetSteps() {
		a := wire.Ability(s, probe)
		if wire.Sees(a) {
			sees++
			if wire.Holds(a) {
				holds++
			}
		} else if a == nil || isOutside(s.GetName()) {
			continue
		}
		all++
	}
	p := info.GetProbes()[probe]
	text = fmt.Sprintf("%s: sees %d of %d steps", p.GetName(), sees, all)
	if holds > 0 {
		text += fmt.Sprintf(", can hold at %d", holds)
	}
	if known := knownBy(p.GetKnows()); known != "" {
		text += "; knows " + known
	}
	return text, sees, all
}

func isOutside(step string) bool {
	about := probes.MustLoad().Step(step)
	return about != nil && about.Outside()
}

// knownBy names what a probe knows of a story besides its steps.
func knownBy(k *agentpb.Knows) string {
	var out []string
	for _, x := range []struct {
		is   bool
		name string
	}{
		{k.GetTurns(), "turns"}, {k.GetNesting(), "nesting"}, {k.GetWorkers(), "workers"}, {k.GetReports(), "reports"},
	} {
		if x.is {
			out = append(out, x.name)
		}
	}
	return strings.Join(out, ", ")
}
