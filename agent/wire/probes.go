package wire

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons" // also for the words of the reasons that agents send, which every client needs
)

// Reason is a reason as it goes over the wire; nil for none.
func Reason(r probes.Reason) *agentpb.Reason {
	if r.IsZero() {
		return nil
	}
	return &agentpb.Reason{Code: r.Code, Args: r.Args}
}

// Why returns a reason that came over the wire.
func Why(r *agentpb.Reason) probes.Reason { return probes.Reason{Code: r.GetCode(), Args: r.GetArgs()} }

// ProbeStateNamed returns the state that an event names, such as running or failed; ok is false for names that are not
// known.
func ProbeStateNamed(name string) (s agentpb.ProbeState, ok bool) {
	n, ok := agentpb.ProbeState_value[statePrefix+strings.ToUpper(name)]
	return agentpb.ProbeState(n), ok
}

// Working returns the names of the probes that see something now.
func Working(all []*agentpb.Probe) (names []string) {
	for _, p := range all {
		if Works(p) && !Retries(p) {
			names = append(names, p.GetName())
		}
	}
	return names
}

// Retries reports whether a probe sees nothing now, and tries again.
func Retries(p *agentpb.Probe) bool { return p.GetState() == agentpb.ProbeState_PROBE_RETRYING }

// StateName returns the state of a probe as events name it, such as running or failed.
func StateName(p *agentpb.Probe) string {
	return strings.ToLower(strings.TrimPrefix(p.GetState().String(), statePrefix))
}

const statePrefix = "PROBE_"

// Works reports whether a probe sees steps, or will in a moment.
func Works(p *agentpb.Probe) bool {
	switch p.GetState() {
	case agentpb.ProbeState_PROBE_FAILED, agentpb.ProbeState_PROBE_STOPPED:
		return false
	}
	return p != nil
}

// Knows returns the union of what an agent's working probes know.
func Knows(info *agentpb.InfoResponse) probes.Knows {
	var out probes.Knows
	for _, p := range info.GetProbes() {
		if k := p.GetKnows(); Works(p) {
			out.Turns = out.Turns || k.GetTurns()
			out.Nesting = out.Nesting || k.GetNesting()
			out.Workers = out.Workers || k.GetWorkers()
			out.Reports = out.Reports || k.GetReports()
		}
	}
	return out
}

// Sees reports whether the probe sees anything of the step.
func Sees(a *agentpb.Ability) bool { return a.GetEntry() || a.GetExit() }

// Holds reports whether a pod may be held at a side of the step that this probe sees.
func Holds(a *agentpb.Ability) bool {
	no := string(probes.HoldNo)
	return Sees(a) && (a.GetHoldEnter() != no || a.GetHoldExit() != no)
}

// Ability returns what the probe of that index can do at the step, or nil.
func Ability(s *agentpb.Step, probe int) *agentpb.Ability {
	i := slices.IndexFunc(s.GetAbilities(), func(a *agentpb.Ability) bool { return int(a.GetProbe()) == probe })
	if i < 0 {
		return nil
	}
	return s.Abilities[i]
}

// Unseen returns why none of the agent's probes sees the step: the failure of the first failed probe that would see the
// step, else the foremost reason that a probe gives. It is empty if a probe sees the step.
func Unseen(info *agentpb.InfoResponse, s *agentpb.Step) (why probes.Text) {
	var failed []*agentpb.Probe
	var all []probes.Reason
	for _, a := range s.GetAbilities() {
		p := probeAt(info, a.GetProbe())
		switch sees := Sees(a); {
		case sees && Works(p):
			return probes.Text{}
		case sees:
			failed = append(failed, p)
		default:
			all = append(all, Why(a.GetUnseen()))
		}
	}
	if len(failed) > 0 {
		return Failure(failed[0])
	}
	return reasons.Foremost(all).Text()
}

// probeAt returns the probe of an index, or nil: files and agents may have any index.
func probeAt(info *agentpb.InfoResponse, i uint32) *agentpb.Probe {
	if all := info.GetProbes(); int64(i) < int64(len(all)) {
		return all[i]
	}
	return nil
}

// Failure returns the text that a probe sees nothing, and why.
func Failure(p *agentpb.Probe) probes.Text {
	name := p.GetName()
	if p.GetState() == agentpb.ProbeState_PROBE_STOPPED {
		if p.GetReason() == nil {
			return probes.Text{En: "the " + name + " probe was stopped", Zh: "探针 " + name + " 已停止"}
		}
		why := Why(p.GetReason()).Text()
		return probes.Text{En: "the " + name + " probe is off: " + why.En, Zh: "探针 " + name + " 未启用：" + why.Zh}
	}
	why := Why(p.GetReason()).Text()
	return probes.Text{En: "the " + name + " probe has failed: " + why.En, Zh: "探针 " + name + " 已失败：" + why.Zh}
}
