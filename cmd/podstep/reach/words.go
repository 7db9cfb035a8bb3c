package reach

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// What stands between the members of lists.
var comma, semicolon = words.Text(", ", "，"), words.Text("; ", "；")

// Text says what the probe with that index can do, and how many steps of how many it sees.
// Steps that are no function of the kubelet count only for the probes that see them.
func Text(info *agentpb.InfoResponse, probe int) (text probes.Text, sees, all int) {
	holds, closely := 0, 0
	for _, s := range info.GetSteps() {
		a := wire.Ability(s, probe)
		if wire.Sees(a) {
			sees++
			if a.GetClosely() {
				closely++
			}
			if wire.Holds(a) {
				holds++
			}
		} else if a == nil || isOutside(s.GetName()) {
			continue
		}
		all++
	}
	p := info.GetProbes()[probe]
	text = words.With(words.Text("%s: sees %d of %d steps", "%s：能看到 %d 个步骤，共 %d 个"), p.GetName(), sees, all)
	if closely > 0 {
		text = words.Joined(comma, text, words.With(words.Text("%d of them in pods that are watched closely", "其中 %d 个只在被仔细观察的 Pod 中"), closely))
	}
	if holds > 0 {
		text = words.Joined(comma, text, words.With(words.Text("can hold at %d", "能在 %d 处停住"), holds))
	}
	if known := knownBy(p.GetKnows()); known.En != "" {
		text = words.Joined(semicolon, text, words.With(words.Text("knows %s", "知道%s"), known))
	}
	return text, sees, all
}

func isOutside(step string) bool {
	about := probes.MustLoad().Step(step)
	return about != nil && about.Outside()
}

// knownBy names what a probe knows of a story besides its steps.
func knownBy(k *agentpb.Knows) probes.Text {
	var out []probes.Text
	for _, x := range []struct {
		is   bool
		name probes.Text
	}{
		{k.GetTurns(), words.Text("turns", "轮次")}, {k.GetNesting(), words.Text("nesting", "嵌套")}, {k.GetWorkers(), words.Text("workers", "worker")}, {k.GetReports(), words.Text("reports", "报告")},
	} {
		if x.is {
			out = append(out, x.name)
		}
	}
	return words.Joined(comma, out...)
}
