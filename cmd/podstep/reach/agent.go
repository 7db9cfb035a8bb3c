package reach

import (
	"fmt"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Agent returns the checks of an agent that was reached.
func Agent(c *client.Client) []Check {
	i := c.About()
	checks := []Check{ok("agent", "version %s at %s, pid %d, node %s", i.Version, c.Path, i.Pid, i.Node)}
	checks = append(checks, agentProbeChecks(i)...)
	return append(checks, versionCheck(i.KubeletVersion))
}

// NoAgent returns the one check of an agent that was not reached, on a machine. Where podstep
// can attach, no agent is needed yet.
func NoAgent(err error, m Machine) Check {
	c := Check{Name: "agent", Status: "fail", Text: err.Error(), Todo: m.ForAgent}
	switch client.KindOf(err) {
	case client.Denied:
		c.Todo = "run podstep as the user who runs the kubelet"
	case client.Usage:
		c.Todo = "name another socket"
	case client.NoAgent:
		if m.Attachable {
			c.Status = "warn"
		}
	}
	return c
}

// agentProbeChecks report the state of each of the agent's probes, and what it can do.
func agentProbeChecks(info *agentpb.InfoResponse) []Check {
	var checks []Check
	for i, p := range info.GetProbes() {
		checks = append(checks, agentProbeCheck(info, i, p))
	}
	return checks
}

func agentProbeCheck(info *agentpb.InfoResponse, i int, p *agentpb.Probe) Check {
	text, sees, all := Text(info, i)
	why := wire.Why(p.GetReason()).Text().En
	switch {
	case p.GetState() == agentpb.ProbeState_PROBE_RETRYING:
		return warn("probe", p.GetName()+": sees nothing now, and tries again: "+why, "fix that; the probe then goes on by itself")
	case p.GetState() == agentpb.ProbeState_PROBE_STOPPED && p.GetReason() != nil:
		return ok("probe", "%s", wire.Failure(p).En) // somebody wants it so
	case !wire.Works(p):
		return warn("probe", wire.Failure(p).En, "fix that, then end podstep attach and start it again")
	case sees == 0:
		return Check{Name: "probe", Status: "fail", Text: text, Todo: "the kubelet was built without weaving; use podstep-kubelet as it is released"}
	}
	if why != "" { // the remark of a probe that works
		text += "; " + why
	}
	if k := p.GetKnows(); sees < all && k.GetNesting() && k.GetTurns() {
		return warn("probe", text, "podstep steps --agent lists those that it does not see, with the reasons")
	}
	return ok("probe", "%s", text)
}

func versionCheck(kubelet string) Check {
	if probes.SameMinor(kubelet) {
		return ok("kubelet", "%s, the version of the catalogue (%s)", kubelet, probes.KubernetesVersion)
	}
	return warn("kubelet", fmt.Sprintf("%s, but the catalogue was read from %s", kubelet, probes.KubernetesVersion),
		"texts and line numbers may differ; use a podstep for this minor version")
}
