package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/version"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/spf13/cobra"
)

func (a *app) version() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "version [-o json|yaml]",
		Short: "Versions of podstep, of its catalogue, and of the agents that are named or here",
		Args:  arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := a.versions(cmd.Context())
			return out.print(a.out, v, func(w io.Writer) { versionText(w, v) })
		},
	}
	out.add(cmd, "json", "yaml")
	return cmd
}

// versionJSON is what podstep knows about itself and its agent.
type versionJSON struct {
	Version   string            `json:"version"`
	Catalogue string            `json:"catalogue"`
	Go        string            `json:"go"`
	Platform  string            `json:"platform"`
	Agent     *agentVersionJSON `json:"agent"`
	NoAgent   string            `json:"noAgent,omitempty"`
	// Nodes are set in place of Agent if several nodes are named.
	Nodes []nodeVersionJSON `json:"nodes,omitempty"`
}

// nodeVersionJSON is the agent of one of several nodes, or why it did not answer.
type nodeVersionJSON struct {
	Node    string            `json:"node"`
	Agent   *agentVersionJSON `json:"agent"`
	NoAgent string            `json:"noAgent,omitempty"`
}

type agentVersionJSON struct {
	Version string `json:"version"`
	Kubelet string `json:"kubelet"`
	// Probes are the names of the probes that work.
	Probes []string `json:"probes"`
	Node   string   `json:"node"`
	Pid    int64    `json:"pid"`
	Socket string   `json:"socket"`
}

func (a *app) versions(ctx context.Context) versionJSON {
	v := versionJSON{
		Version: version.Own(), Catalogue: probes.KubernetesVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	nodes, err := a.chosen(ctx)
	if err != nil {
		v.NoAgent = err.Error()
		return v
	}
	answers := fleet.Ask(ctx, nodes, patienceWith(nodes), func(_ context.Context, c *client.Client) (*agentVersionJSON, error) {
		return agentVersion(c), nil
	})
	for _, answer := range answers {
		of := nodeVersionJSON{Node: answer.Name, Agent: answer.Value}
		if answer.Err != nil {
			of.NoAgent = answer.Err.Error()
		}
		if len(nodes) == 1 {
			v.Agent, v.NoAgent = of.Agent, of.NoAgent
			return v
		}
		v.Nodes = append(v.Nodes, of)
	}
	return v
}

func agentVersion(c *client.Client) *agentVersionJSON {
	i := c.About()
	return &agentVersionJSON{
		Version: i.Version, Kubelet: i.KubeletVersion, Probes: wire.Working(i.GetProbes()),
		Node: i.Node, Pid: i.Pid, Socket: c.Place.String(),
	}
}

// seenBy names the probes that work.
func seenBy(probes []string) string {
	if len(probes) == 0 {
		return "seen by no probe"
	}
	return strings.Join(probes, " ")
}

func versionText(w io.Writer, v versionJSON) {
	line := func(what, text string) { fmt.Fprintf(w, "%-10s %s\n", what, words.Clean(text)) }
	line("podstep", v.Version)
	line("catalogue", "kubelet "+v.Catalogue)
	line("go", v.Go+" "+v.Platform)
	for _, n := range v.Nodes {
		line("node", n.Node)
		agentText(line, n.Agent, n.NoAgent)
	}
	if v.Nodes == nil {
		agentText(line, v.Agent, v.NoAgent)
	}
}

// agentText writes the lines about an agent, or why there is none.
func agentText(line func(what, text string), agent *agentVersionJSON, none string) {
	if agent == nil {
		line("agent", none)
		return
	}
	line("agent", agent.Version+" at "+agent.Socket)
	line("kubelet", fmt.Sprintf("%s %s, node %s, pid %d", agent.Kubelet, seenBy(agent.Probes), agent.Node, agent.Pid))
}
