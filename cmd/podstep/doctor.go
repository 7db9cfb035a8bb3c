package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/words"
	"github.com/spf13/cobra"
)

// check is one thing that podstep looks at on this machine.
type check struct {
	Name string `json:"name"`
	// Pid is of the kubelet that it is about, if it is about one.
	Pid int `json:"pid,omitempty"`
	// Status is ok, warn or fail. With a fail podstep cannot do its main job.
	Status string `json:"status"`
	Text   string `json:"text"`
	// Todo is what helps, unless all is well.
	Todo string `json:"todo,omitempty"`
}

func ok(name, format string, args ...any) check {
	return check{Name: name, Status: "ok", Text: fmt.Sprintf(format, args...)}
}

func warn(name, text, todo string) check {
	return check{Name: name, Status: "warn", Text: text, Todo: todo}
}

func (a *app) doctor() *cobra.Command {
	var out format
	cmd := &cobra.Command{
		Use:   "doctor [-o json|yaml]",
		Short: "What podstep can do on this machine, and why not more",
		Long: `Checks what podstep needs on this machine: the agent, the kubelets that run here,
what each probe would take, and what a lab needs. It prints what is missing and
what to do about it, and changes nothing. As root it can check more.

The exit code is 0 if there is an agent, and 1 if there is none, even if podstep
attach could start one.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := a.doctorChecks(cmd.Context(), &theMachine)
			if err := out.print(a.out, checks, func(w io.Writer) { checkText(w, checks) }); err != nil {
				return err
			}
			for _, c := range checks {
				if c.Status == "fail" {
					return errQuiet
				}
			}
			return nil
		},
	}
	out.add(cmd, "json", "yaml")
	return cmd
}

func checkText(w io.Writer, checks []check) {
	const wide = len("kubelet 1234567")
	for _, c := range checks {
		name := c.Name
		if c.Pid != 0 {
			name += " " + strconv.Itoa(c.Pid)
		}
		fmt.Fprintf(w, "%-4s  %-*s  %s\n", c.Status, wide, name, words.Clean(c.Text))
		if c.Todo != "" {
			fmt.Fprintf(w, "%-4s  %-*s  -> %s\n", "", wide, "", words.Clean(c.Todo))
		}
	}
}

// doctorChecks are all there are: the agent first, which the rest is about.
func (a *app) doctorChecks(ctx context.Context, m *machine) []check {
	found, err := m.find(ctx)
	checks := a.agentChecks(ctx, found)
	checks = append(checks, m.nodeChecks()...)
	checks = append(checks, m.kubeletChecks(found, err)...)
	checks = append(checks, m.probeChecks(ctx, found)...)
	return append(checks, m.labChecks()...)
}

// agentChecks are about the agent; without one only the first can be made.
func (a *app) agentChecks(ctx context.Context, found []kubelets.Kubelet) []check {
	c, err := a.dial(ctx)
	if err != nil {
		return []check{noAgent(err, found)}
	}
	defer c.Close()
	i := c.About()
	checks := []check{ok("agent", "version %s at %s, pid %d, node %s", i.Version, c.Path, i.Pid, i.Node)}
	checks = append(checks, agentProbeChecks(i)...)
	return append(checks, versionCheck(i.KubeletVersion))
}

func noAgent(err error, found []kubelets.Kubelet) check {
	c := check{Name: "agent", Status: "fail", Text: err.Error()}
	switch client.KindOf(err) {
	case client.Denied:
		c.Todo = "run podstep as the user who runs the kubelet"
	case client.Usage:
		c.Todo = "name another socket"
	default:
		c.Todo = "run podstep-kubelet in place of the kubelet, or try podstep-lab"
		if len(attachable(found)) > 0 {
			c.Todo = "run podstep attach as root: it hosts one beside the kubelet that runs here, and restarts nothing"
		}
	}
	return c
}

// agentProbeChecks say of each of the agent's probes how it fares and what it can
// do.
func agentProbeChecks(info *agentpb.InfoResponse) []check {
	var checks []check
	for i, p := range info.GetProbes() {
		checks = append(checks, agentProbeCheck(info, i, p))
	}
	return checks
}

func agentProbeCheck(info *agentpb.InfoResponse, i int, p *agentpb.Probe) check {
	text, sees, all := reachText(info, i)
	why := wire.Why(p.GetReason()).Text().En
	switch {
	case p.GetState() == agentpb.ProbeState_PROBE_RETRYING:
		return warn("probe", p.GetName()+": sees nothing now, and tries again: "+why, "fix that; the probe then goes on by itself")
	case !wire.Works(p):
		return warn("probe", wire.Failure(p).En, "fix that, then end podstep attach and start it again")
	case sees == 0:
		return check{Name: "probe", Status: "fail", Text: text, Todo: "the kubelet was built without weaving; use podstep-kubelet as it is released"}
	}
	if k := p.GetKnows(); sees < all && k.GetNesting() && k.GetTurns() {
		return warn("probe", text, "podstep steps --agent lists those that it does not see, with the reasons")
	}
	return ok("probe", "%s", text)
}

func versionCheck(kubelet string) check {
	if minor(kubelet) == minor(probes.KubernetesVersion) {
		return ok("kubelet", "%s, the version of the catalogue (%s)", kubelet, probes.KubernetesVersion)
	}
	return warn("kubelet", fmt.Sprintf("%s, but the catalogue was read from %s", kubelet, probes.KubernetesVersion),
		"texts and line numbers may differ; use a podstep for this minor version")
}

// theMachine is this one; tests have others.
var theMachine = machine{root: "/", uid: os.Getuid(), getenv: os.Getenv, stdout: os.Stdout, served: (*kubelets.Kubelet).Served}
