package wire

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// TestUnseen: a probe that has failed is the reason, before what others say.
func TestUnseen(t *testing.T) {
	s := &agentpb.Step{Abilities: []*agentpb.Ability{
		{Probe: 0, Unseen: &agentpb.Reason{Code: "inside"}},
		{Probe: 1, Entry: true},
		{Probe: 9, Entry: true}, // of a probe that is not there
	}}
	info := &agentpb.InfoResponse{Probes: []*agentpb.Probe{{Name: "cri"}, {Name: "uprobe", State: agentpb.ProbeState_PROBE_RUNNING}}}
	if got := Unseen(info, s); got != (probes.Text{}) {
		t.Errorf("it is seen, and not: %v", got)
	}
	info.Probes[1].State = agentpb.ProbeState_PROBE_FAILED
	info.Probes[1].Reason = &agentpb.Reason{Code: "no BPF"}
	if got := Unseen(info, s); got.En != "the uprobe probe has failed: no BPF" || got.Zh != "探针 uprobe 已失败：no BPF" {
		t.Errorf("unseen for %q", got)
	}
}

// TestUnseenForemost: of two reasons, that of the probe that looks where the step happens counts, whichever comes first.
func TestUnseenForemost(t *testing.T) {
	specific, general := reasons.NotThere.With("error", "no such function"), reasons.InsideOf["admit"].Reason()
	for _, all := range [][]probes.Reason{{general, specific}, {specific, general}, {general, {}, specific}} {
		s := &agentpb.Step{}
		for i, r := range all {
			s.Abilities = append(s.Abilities, &agentpb.Ability{Probe: uint32(i), Unseen: Reason(r)})
		}
		if got := Unseen(&agentpb.InfoResponse{}, s); got != specific.Text() {
			t.Errorf("of %v the foremost is %q", all, got.En)
		}
	}
	only := &agentpb.Step{Abilities: []*agentpb.Ability{{Unseen: Reason(general)}}}
	if got := Unseen(&agentpb.InfoResponse{}, only); got != general.Text() {
		t.Errorf("the only reason is %q", got.En)
	}
}
