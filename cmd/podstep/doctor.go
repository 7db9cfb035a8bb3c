package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/cmd/podstep/reach"
	"github.com/podstep/podstep/probes/words"
)

func (a *app) doctor() *cobra.Command {
	var out format
	lang := choice{of: []string{string(words.English), string(words.Chinese)}}
	cmd := &cobra.Command{
		Use:   "doctor [-o json|yaml]",
		Short: "What podstep can do on this machine, and why not more",
		Long: `Checks what podstep needs on this machine: the agent, the kubelets that run here,
what each probe would take, and what a lab needs. It prints what is missing and
what to do about it, and changes nothing. As root it can check more.

If several nodes are named, the checks of the agents are of each of them, and the others
of this machine.

The exit code is 0 if there is an agent, or one on each node that is named, or if podstep attach can start one here. It
is 1 otherwise, and if a podstep that was attached keeps the kubelet from its runtime.`,
		Args: arguments(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			checks := reach.Lines(language(lang.value), a.doctorChecks(cmd.Context()))
			if err := out.print(a.out, checks, func(w io.Writer) { reach.Print(w, checks) }); err != nil {
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
	lang.add(cmd, "lang", "", "language of the texts (default: the locale's)")
	return cmd
}

// doctorChecks returns all checks: those of the agents first, since the others are about what they need.
// Without an agent there is only one check of it.
func (a *app) doctorChecks(ctx context.Context) []reach.Check {
	machine := reach.Look(ctx)
	nodes, err := a.chosen(ctx)
	if err != nil {
		return append([]reach.Check{reach.NoAgent(err, machine)}, machine.Checks...)
	}
	answers := fleet.Ask(ctx, nodes, patienceWith(nodes), agentChecks)
	if len(nodes) > 1 {
		return append(reach.Nodes(answers), machine.Checks...)
	}
	if err := answers[0].Err; err != nil {
		return append([]reach.Check{reach.NoAgent(err, machine)}, machine.Checks...)
	}
	return append(answers[0].Value, machine.Checks...)
}

// agentChecks returns the checks of an agent.
func agentChecks(ctx context.Context, c *client.Client) ([]reach.Check, error) {
	checks := reach.Agent(c.About(), c.Place.String())
	if stats, err := c.Reader().Stats(ctx, &agentpb.StatsRequest{}); err == nil && stats.GetRecord() != nil {
		checks = append(checks, reach.Record(stats.GetRecord()))
	}
	return checks, nil
}
