package reach

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

var notThere = probes.NewReason("test.notThere", probes.Text{En: "it is not there", Zh: "它不在"})

// reachInfo is the answer of an agent with three probes.
func reachInfo(states ...agentpb.ProbeState) *agentpb.InfoResponse {
	info := &agentpb.InfoResponse{}
	for i, name := range []string{"cri", "uprobe", "api"} {
		p := &agentpb.Probe{Name: name, State: states[i], Knows: &agentpb.Knows{Turns: i == 1, Nesting: i == 1, Reports: i == 2}}
		if !wire.Works(p) || p.State == agentpb.ProbeState_PROBE_RETRYING {
			p.Reason = wire.Reason(notThere.Reason())
		}
		info.Probes = append(info.Probes, p)
	}
	sees := func(probe uint32, hold string) *agentpb.Ability {
		return &agentpb.Ability{Probe: probe, Entry: true, Exit: true, Arguments: true, HoldEnter: hold, HoldExit: "no", Fail: hold != "no"}
	}
	not := func(probe uint32) *agentpb.Ability {
		return &agentpb.Ability{Probe: probe, HoldEnter: "no", HoldExit: "no", Unseen: wire.Reason(notThere.Reason())}
	}
	info.Steps = []*agentpb.Step{
		{Name: "sync.pod", Abilities: []*agentpb.Ability{not(0), sees(1, "no")}},
		{Name: "sync.volumes", Abilities: []*agentpb.Ability{not(0), not(1)}},
		{Name: "cri.StopContainer", Abilities: []*agentpb.Ability{sees(0, "worker"), sees(1, "no")}},
		{Name: "cluster.bound", Abilities: []*agentpb.Ability{sees(2, "no")}},
	}
	return info
}

// TestAgentProbes: doctor reports the state of each probe.
func TestAgentProbes(t *testing.T) {
	const running, retrying, failed = agentpb.ProbeState_PROBE_RUNNING, agentpb.ProbeState_PROBE_RETRYING, agentpb.ProbeState_PROBE_FAILED
	for _, c := range []struct {
		states []agentpb.ProbeState
		want   []string
	}{
		{[]agentpb.ProbeState{running, running, running}, []string{
			"ok cri: sees 1 of 3 steps, can hold at 1", "warn uprobe: sees 2 of 3 steps; knows turns, nesting", "ok api: sees 1 of 1 steps; knows reports",
		}},
		{[]agentpb.ProbeState{failed, running, retrying}, []string{
			"warn the cri probe has failed: it is not there", "warn uprobe: sees 2 of 3 steps; knows turns, nesting", "warn api: sees nothing now, and tries again: it is not there",
		}},
	} {
		for i, got := range agentProbeChecks(reachInfo(c.states...)) {
			if text := got.Status + " " + got.Text.En; text != c.want[i] || (got.Todo.En == "") != (got.Status == "ok") {
				t.Errorf("%s -> %s, want %s", text, got.Todo.En, c.want[i])
			}
		}
	}
}

// TestRemark: the remark of a probe that works is in the probe's line.
func TestRemark(t *testing.T) {
	const running = agentpb.ProbeState_PROBE_RUNNING
	info := reachInfo(running, running, running)
	info.Probes[1].Reason = wire.Reason(notThere.Reason())
	if got, want := agentProbeChecks(info)[1].Text.En, "uprobe: sees 2 of 3 steps; knows turns, nesting; it is not there"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}

// TestAbilityWords: steps --agent names the probes that see a step, or says why none does.
func TestAbilityWords(t *testing.T) {
	const running, failed = agentpb.ProbeState_PROBE_RUNNING, agentpb.ProbeState_PROBE_FAILED
	for _, c := range []struct {
		uprobe agentpb.ProbeState
		want   []string
	}{
		{running, []string{"uprobe arguments", "no: 它不在", "cri arguments hold fail; uprobe arguments", "api arguments"}},
		{failed, []string{"no: 探针 uprobe 已失败：它不在", "no: 它不在", "cri arguments hold fail", "api arguments"}},
	} {
		info := reachInfo(running, c.uprobe, running)
		for i, s := range info.Steps {
			var all []Ability
			for _, a := range s.Abilities {
				all = append(all, NewAbility(info.Probes[a.Probe], a, "zh"))
			}
			if got := Words(all, words.Lang("zh").In(wire.Unseen(info, s))); got != c.want[i] {
				t.Errorf("%s: %s, want %s", s.Name, got, c.want[i])
			}
		}
	}
}
