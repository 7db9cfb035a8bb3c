package reach

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Agent returns the checks of an agent that was reached at a socket.
func Agent(i *agentpb.InfoResponse, socket string) []Check {
	checks := []Check{ok("agent", words.Text("version %s at %s, pid %d, node %s", "版本 %s，在 %s，pid %d，节点 %s"), i.Version, socket, i.Pid, i.Node)}
	checks = append(checks, agentProbeChecks(i)...)
	return append(checks, versionCheck(i.KubeletVersion))
}

// NoAgent returns the one check of an agent that was not reached, on a machine. Where podstep
// can attach, no agent is needed yet.
func NoAgent(err error, m Machine) Check {
	c := fail("agent", reason.Error(err), m.ForAgent)
	switch client.KindOf(err) {
	case client.Denied:
		c.Todo = words.Text("run podstep as the user who runs the kubelet", "用运行 kubelet 的用户运行 podstep")
	case client.Usage:
		c.Todo = words.Text("name another socket", "指定另一个套接字")
	case client.NoAgent:
		if m.Attachable {
			c.Status = "warn"
		}
	}
	return c
}

// Nodes returns the checks of the agents of several nodes, each with the name of its node.
func Nodes(answers []fleet.Answer[[]Check]) (all []Check) {
	for _, answer := range answers {
		checks := answer.Value
		if answer.Err != nil {
			checks = []Check{fail("agent", reason.Error(answer.Err), words.Text("look at podstep attach, or at the pod of podstep, on that node", "查看该节点上的 podstep attach 或 podstep 的 Pod"))}
		}
		for _, c := range checks {
			c.Node = answer.Name
			all = append(all, c)
		}
	}
	return all
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
	why := wire.Why(p.GetReason()).Text()
	switch {
	case p.GetState() == agentpb.ProbeState_PROBE_RETRYING:
		return warn("probe", words.With(words.Text("%s: sees nothing now, and tries again: %s", "%s：现在什么都看不到，会再试：%s"), p.GetName(), why), words.Text("fix that; the probe then goes on by itself", "解决它；探针会自行继续"))
	case p.GetState() == agentpb.ProbeState_PROBE_STOPPED && p.GetReason() != nil:
		return ok("probe", wire.Failure(p)) // somebody wants it so
	case !wire.Works(p):
		return warn("probe", wire.Failure(p), words.Text("fix that, then end podstep attach and start it again", "解决它，然后结束 podstep attach 并重新启动"))
	case sees == 0:
		return fail("probe", text, words.Text("the kubelet was built without weaving; use podstep-kubelet as it is released", "这个 kubelet 构建时没有织入；请用发布的 podstep-kubelet"))
	}
	if why.En != "" { // the remark of a probe that works
		text = words.Joined(semicolon, text, why)
	}
	if k := p.GetKnows(); sees < all && k.GetNesting() && k.GetTurns() {
		return warn("probe", text, words.Text("podstep steps --agent lists those that it does not see, with the reasons", "podstep steps --agent 列出它看不到的步骤和原因"))
	}
	return ok("probe", text)
}

func versionCheck(kubelet string) Check {
	if probes.SameMinor(kubelet) {
		return ok("kubelet", words.Text("%s, the version of the catalogue (%s)", "%s，与步骤目录的版本（%s）一致"), kubelet, probes.KubernetesVersion)
	}
	return warn("kubelet", words.With(words.Text("%s, but the catalogue was read from %s", "%s，但步骤目录取自 %s"), kubelet, probes.KubernetesVersion),
		words.Text("texts and line numbers may differ; use a podstep for this minor version", "文字和行号可能不同；请用与这个次版本对应的 podstep"))
}
