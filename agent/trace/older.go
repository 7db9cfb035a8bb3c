package trace

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// The numbers of fields that the protocol had before Probe and Ability. Traces that
// were recorded then have these fields in place of probes and abilities.
const (
	oldInfoProbe protowire.Number = 6  // of InfoResponse, a text: the name of the probe
	oldStepSeen  protowire.Number = 4  // of Step, a flag: a probe sees it
	oldStepWhy   protowire.Number = 7  // of Step, a text: why it is not seen, or why no pod is held there
	oldStepProbe protowire.Number = 10 // of Step, a text: the probe that sees it, if that is another
)

// oldKnows are what the probes of that time knew.
var oldKnows = map[string]*agentpb.Knows{
	"woven":                  {Turns: true, Nesting: true, Workers: true},
	"cri":                    {},
	string(probes.ByAPI):     {Reports: true},
	string(probes.ByKubelet): {Reports: true},
}

// addProbes makes the probes and abilities of an Info that has none, out of the old
// fields. An Info with probes stays as it is.
func addProbes(info *agentpb.InfoResponse) {
	if len(info.Probes) > 0 {
		return
	}
	index := map[string]uint32{}
	indexOf := func(name string) uint32 {
		i, ok := index[name]
		if !ok {
			i = uint32(len(info.Probes))
			index[name] = i
			info.Probes = append(info.Probes, &agentpb.Probe{
				Name: name, State: agentpb.ProbeState_PROBE_RUNNING, Since: info.Started, Knows: oldKnows[name],
			})
		}
		return i
	}
	first, _ := oldField(info, oldInfoProbe)
	indexOf(first)
	for _, s := range info.Steps {
		probe, _ := oldField(s, oldStepProbe)
		_, seen := oldField(s, oldStepSeen)
		if probe == "" || !seen {
			probe = first
		}
		s.Abilities = []*agentpb.Ability{oldAbility(s, indexOf(probe), seen)}
	}
}

// oldAbility is the ability of a probe that the old fields of a step stand for.
func oldAbility(s *agentpb.Step, probe uint32, seen bool) *agentpb.Ability {
	var why *agentpb.Reason
	if words, ok := oldField(s, oldStepWhy); ok {
		why = &agentpb.Reason{Code: words} // a code that nobody knows is shown as it is
	}
	no := string(probes.HoldNo)
	if !seen {
		return &agentpb.Ability{Probe: probe, HoldEnter: no, HoldExit: no, Unseen: why}
	}
	return &agentpb.Ability{
		Probe: probe, Entry: true, Exit: true, Arguments: true, Results: true,
		HoldEnter: s.HoldEnter, HoldExit: s.HoldExit, Fail: true, NoHold: why,
	}
}

// oldField finds a field that m's type no longer has. ok reports whether it is set,
// to something else than its zero value; text is empty if it is no text.
func oldField(m proto.Message, field protowire.Number) (text string, ok bool) {
	for b := []byte(m.ProtoReflect().GetUnknown()); len(b) > 0; {
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return "", false
		}
		size := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if size < 0 {
			return "", false
		}
		value := b[tag : tag+size]
		b = b[tag+size:]
		switch {
		case number != field:
		case kind == protowire.BytesType:
			raw, _ := protowire.ConsumeBytes(value)
			text, ok = strings.ToValidUTF8(string(raw), "\uFFFD"), len(raw) > 0
		case kind == protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			ok = n != 0
		}
	}
	return text, ok
}
