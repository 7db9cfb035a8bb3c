package trace

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// withText sets a field that m's type no longer has.
func withText[M proto.Message](m M, field protowire.Number, text string) M {
	r := m.ProtoReflect()
	r.SetUnknown(protowire.AppendString(protowire.AppendTag(r.GetUnknown(), field, protowire.BytesType), text))
	return m
}

// seen sets that a probe sees a step, as it was said before abilities.
func seen(s *agentpb.Step) *agentpb.Step {
	r := s.ProtoReflect()
	r.SetUnknown(protowire.AppendVarint(protowire.AppendTag(r.GetUnknown(), oldStepSeen, protowire.VarintType), 1))
	return s
}

// TestOldFields: a trace from before there were several probes is read as one of an
// agent with probes and abilities.
func TestOldFields(t *testing.T) {
	info := withText(&agentpb.InfoResponse{Steps: []*agentpb.Step{
		withText(&agentpb.Step{Name: "sync.pod", HoldEnter: "yes", HoldExit: "no"}, oldStepWhy, "inside the kubelet"),
		seen(&agentpb.Step{Name: "cri.StopContainer", HoldEnter: "worker", HoldExit: "no"}),
		withText(seen(&agentpb.Step{Name: "cri.PullImage", HoldEnter: "no", HoldExit: "no"}), oldStepWhy, "one puller"),
		withText(seen(&agentpb.Step{Name: "cluster.bound", HoldEnter: "no", HoldExit: "no"}), oldStepProbe, "api"),
	}}, oldInfoProbe, "cri")
	addProbes(info)
	if len(info.Probes) != 2 || info.Probes[0].Name != "cri" || info.Probes[1].Name != "api" || !wire.Works(info.Probes[1]) {
		t.Fatalf("the probes are %v", info.Probes)
	}
	if k := wire.Knows(info); k != (probes.Knows{Reports: true}) {
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
		a, unseen := s.Abilities[0], wire.Unseen(info, s).En
		if wire.Sees(a) != want.sees || wire.Holds(a) != want.holds || unseen != want.unseen || wire.Why(a.NoHold).Text().En != want.no || a.Probe != want.by {
			t.Errorf("%s: %v, unseen for %q", s.Name, a, unseen)
		}
	}
	before := proto.CloneOf(info)
	if addProbes(info); !proto.Equal(info, before) {
		t.Error("an Info with probes is changed")
	}
}
