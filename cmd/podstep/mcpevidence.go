package main

import (
	"context"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/mcp"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes"
)

// agentSource is how evidence names the agent.
const agentSource = "the agent"

// about returns what a recording, or the agent if there is none, reports about itself, and how evidence names it.
func (o *oncall) about(ctx context.Context, a *app, r *recording) (source string, info *agentpb.InfoResponse, err error) {
	if r != nil {
		info, err = r.about(ctx, a)
		return r.called(), info, err
	}
	c, err := a.dialReader(ctx)
	if err != nil {
		return "", nil, noAgentFor(err)
	}
	defer c.Close()
	return agentSource, c.About(), nil
}

// evidenceOf says from where an answer is.
func evidenceOf(source string, info *agentpb.InfoResponse) mcp.Evidence {
	e := mcp.Evidence{Source: source, Node: info.GetNode(), Kubelet: info.GetKubeletVersion(), At: time.Now()}
	for i, p := range info.GetProbes() {
		if wire.Works(p) {
			text, _, _ := reach.Text(info, i)
			e.Probes = append(e.Probes, text.En)
		}
	}
	return e
}

// unseenOf says what an agent, or a recording of one, does not see.
func unseenOf(info *agentpb.InfoResponse) (out []string) {
	for _, p := range info.GetProbes() {
		switch {
		case !wire.Works(p):
			out = append(out, wire.Failure(p).En)
		case p.GetState() == agentpb.ProbeState_PROBE_RETRYING:
			out = append(out, fmt.Sprintf("the %s probe sees nothing now, and tries again: %s", p.GetName(), wire.Why(p.GetReason()).Text().En))
		}
	}
	knows := wire.Knows(info)
	for _, x := range []struct {
		known bool
		text  string
	}{
		{knows.Turns, "no probe sees the turns of the pods' workers"},
		{knows.Nesting, "no probe sees in which call a call happens"},
		{knows.Reports, "no probe has what the API server reports of pods, such as their conditions"},
	} {
		if !x.known {
			out = append(out, x.text)
		}
	}
	if n := unseenSteps(info); n > 0 {
		out = append(out, fmt.Sprintf("no probe sees %d of the %d steps; the tool steps with seen says which, and why", n, len(info.GetSteps())))
	}
	return out
}

// unseenSteps counts the steps that no probe sees.
func unseenSteps(info *agentpb.InfoResponse) (n int) {
	for _, s := range info.GetSteps() {
		if (wire.Unseen(info, s) != probes.Text{}) || len(s.GetAbilities()) == 0 {
			n++
		}
	}
	return n
}
