package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// TestComplete: what agents said before they had probes is read as theirs.
func TestComplete(t *testing.T) {
	old := &agentpb.InfoResponse{Probe: "cri", Steps: []*agentpb.Step{
		{Name: "sync.pod", HoldEnter: "yes", HoldExit: "no", Why: "inside the kubelet"},
		{Name: "cri.StopContainer", Seen: true, HoldEnter: "worker", HoldExit: "no"},
		{Name: "cri.PullImage", Seen: true, HoldEnter: "no", HoldExit: "no", Why: "one puller"},
		{Name: "cluster.bound", Seen: true, Probe: "api", HoldEnter: "no", HoldExit: "no"},
	}}
	before := proto.CloneOf(old)
	info := Complete(old)
	if !proto.Equal(old, before) {
		t.Error("what was given is changed")
	}
	if len(info.Probes) != 2 || info.Probes[0].Name != "cri" || info.Probes[1].Name != "api" || !Works(info.Probes[1]) {
		t.Fatalf("the probes are %v", info.Probes)
	}
	if k := Knows(info); k.Turns || k.Nesting || !k.Reports {
		t.Errorf("they know %+v", k)
	}
	for i, want := range []struct {
		sees, holds bool
		unseen, no  string
		by          uint32
	}{
		{false, false, "inside the kubelet", "", 0},
		{true, true, "", "", 0},
		{true, false, "", "one puller", 0},
		{true, false, "", "", 1},
	} {
		s := info.Steps[i]
		a := s.Abilities[0]
		if Sees(a) != want.sees || Holds(a) != want.holds || Unseen(info, s).En != want.unseen || Why(a.NoHold).Text().En != want.no || a.Probe != want.by {
			t.Errorf("%s: %v, unseen for %q", s.Name, a, Unseen(info, s).En)
		}
	}
	if Complete(info) != info {
		t.Error("what is complete is not left as it is")
	}
}

// TestUnseen: a probe that has failed is the reason, before what others say.
func TestUnseen(t *testing.T) {
	s := &agentpb.Step{Abilities: []*agentpb.Ability{
		{Probe: 0, Unseen: &agentpb.Reason{Code: "words", Args: map[string]string{"words": "inside"}}},
		{Probe: 1, Entry: true},
		{Probe: 9, Entry: true}, // of nobody
	}}
	info := &agentpb.InfoResponse{Probes: []*agentpb.Probe{{Name: "cri"}, {Name: "uprobe", State: agentpb.ProbeState_PROBE_RUNNING}}}
	if got := Unseen(info, s); got != (probes.Text{}) {
		t.Errorf("it is seen, and not: %v", got)
	}
	info.Probes[1].State = agentpb.ProbeState_PROBE_FAILED
	info.Probes[1].Reason = Reason(reasons.InWords.With("words", "no BPF"))
	if got := Unseen(info, s); got.En != "the uprobe probe has failed: no BPF" || got.Zh != "探针 uprobe 已失败：no BPF" {
		t.Errorf("unseen for %q", got)
	}
}
