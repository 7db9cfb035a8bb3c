package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/spf13/cobra"
)

// check is one thing that podstep looks at on this machine.
type check struct {
	Name string `json:"name"`
	// Status is ok, warn or fail. With a fail podstep cannot do its main job.
	Status string `json:"status"`
	Text   string `json:"text"`
	// Todo says what helps, unless all is well.
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
		Long: `Looks at what podstep needs on this machine, and says what to do about what is
missing. The exit code is 0 if there is an agent to work with.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := append(a.agentChecks(cmd.Context()), theMachine.checks()...)
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
	for _, c := range checks {
		fmt.Fprintf(w, "%-4s  %-10s  %s\n", c.Status, c.Name, printable(c.Text))
		if c.Todo != "" {
			fmt.Fprintf(w, "%-4s  %-10s  -> %s\n", "", "", printable(c.Todo))
		}
	}
}

// agentChecks are about the agent; without one only the first can be made.
func (a *app) agentChecks(ctx context.Context) []check {
	c, err := a.dial(ctx)
	if err != nil {
		return []check{noAgent(err)}
	}
	defer c.Close()
	i := c.About()
	return []check{
		ok("agent", "version %s at %s, pid %d, node %s", i.Version, c.Path, i.Pid, i.Node),
		probeCheck(c),
		versionCheck(i.KubeletVersion),
	}
}

func noAgent(err error) check {
	c := check{Name: "agent", Status: "fail", Text: err.Error()}
	switch client.KindOf(err) {
	case client.Denied:
		c.Todo = "run podstep as the user who runs the kubelet"
	case client.Usage:
		c.Todo = "name another socket"
	default:
		c.Todo = "run podstep-kubelet in place of the kubelet, or try podstep-lab"
	}
	return c
}

func probeCheck(c *client.Client) check {
	i := c.About()
	seen, holds := 0, 0
	for _, s := range i.Steps {
		if !s.Seen {
			continue
		}
		seen++
		if s.HoldEnter != string(probes.HoldNo) || s.HoldExit != string(probes.HoldNo) {
			holds++
		}
	}
	text := fmt.Sprintf("%s: sees %d of %d steps, can hold at %d", i.Probe, seen, len(i.Steps), holds)
	if seen == 0 {
		return check{Name: "probe", Status: "fail", Text: text, Todo: "the kubelet was built without weaving; use podstep-kubelet as it is released"}
	}
	if seen < len(i.Steps) {
		return warn("probe", text, "the others are not in this kubelet; podstep steps --kubelet PATH tells which and why")
	}
	return ok("probe", "%s", text)
}

func versionCheck(kubelet string) check {
	if minor(kubelet) == minor(probes.KubernetesVersion) {
		return ok("kubelet", "%s, as the catalogue (%s)", kubelet, probes.KubernetesVersion)
	}
	return warn("kubelet", fmt.Sprintf("%s, but the catalogue was read from %s", kubelet, probes.KubernetesVersion),
		"texts and line numbers may be off; a podstep for this minor version fits better")
}

// theMachine is this one; tests have others.
var theMachine = machine{root: "/", uid: os.Getuid(), getenv: os.Getenv, stdout: os.Stdout}
