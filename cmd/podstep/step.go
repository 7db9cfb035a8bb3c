package main

import (
	"cmp"
	"context"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// stepModes are the flags that say how far to go. One of them may be given.
var stepModes = []struct {
	flag, usage string
	mode        agentpb.StepMode
}{
	{"over", "not into the steps inside this one", agentpb.StepMode_OVER},
	{"out", "to the end of the step that this one is inside", agentpb.StepMode_OUT},
	{"stage", "to the next stage", agentpb.StepMode_NEXT_STAGE},
	{"cri", "to the next call of the container runtime", agentpb.StepMode_NEXT_CRI},
	{"sync", "to the next sync of the pod", agentpb.StepMode_NEXT_SYNC},
}

func (a *app) step() *cobra.Command {
	var flags holdFlags
	var until, into string
	line := choice{of: []string{"over", "into", "out"}}
	given := make([]bool, len(stepModes))
	cmd := &cobra.Command{
		Use:   "step POD [-n NAMESPACE] [--over|--out|--stage|--cri|--sync|--until STEP|--into STEP|--line over|into|out] [--lease DURATION] [--wait DURATION] [-m TEXT] [-o wide|json|yaml]",
		Short: "Let a held pod go on to the next place",
		Long: `Lets a held pod go on, holds it again at the next place, and prints where. Without
a flag the next place is the next step that allows a hold. A breakpoint on the way
holds the pod first.

With --into the pod goes into a call of that step inside the step at which it is held.
If no such call comes, it is held where --over would hold it.

With --line the pod goes on by line of the kubelet's code. over goes to the next line
of the function in which the pod is held. into also enters a function that the line
calls. out goes to where the function was called. It takes a debugger that holds pods: podstep attach
--probe cri,delve,api --allow-holds --risk-the-kubelet.`,
		Example: `  podstep step web
  podstep step web --cri
  podstep step web --line over
  podstep step web --until sync.volumes`,
		Args:              arguments(1, 1, "POD"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := flags.one(args[0])
			if err != nil {
				return err
			}
			mode, err := chosenMode(given, cmd.Flags(), line.value)
			if err != nil {
				return err
			}
			req := &agentpb.StepRequest{Pods: sel, Mode: mode, Until: cmp.Or(until, into), Lease: flags.lease.proto(), Wait: flags.wait.proto(), Message: flags.message}
			return a.withHold(cmd.Context(), sel, func(ctx context.Context, c *client.Client, waited func()) error {
				h, err := c.Step(ctx, req)
				waited()
				return a.printHold(h, err, &flags.out)
			})
		},
	}
	flags.add(cmd)
	for i, m := range stepModes {
		cmd.Flags().BoolVar(&given[i], m.flag, false, m.usage)
	}
	cmd.Flags().StringVar(&until, "until", "", "to the first `STEP` of that name; a glob is taken")
	cmd.Flags().StringVar(&into, "into", "", "only into a call of `STEP` inside this one; a glob is taken")
	for _, flag := range stepFlags {
		cmd.RegisterFlagCompletionFunc(flag.name, completeSteps)
	}
	line.add(cmd, "line", "", "by line of the kubelet's code, with a debugger")
	return cmd
}

// lineModes are the ways of --line.
var lineModes = map[string]agentpb.StepMode{
	"over": agentpb.StepMode_LINE_OVER, "into": agentpb.StepMode_LINE_INTO, "out": agentpb.StepMode_LINE_OUT,
}

// stepFlags are the flags that name a step.
var stepFlags = []struct {
	name string
	mode agentpb.StepMode
}{
	{"until", agentpb.StepMode_UNTIL},
	{"into", agentpb.StepMode_INTO},
}

// chosenMode returns the way of stepping that the flags name, of which there may be one.
func chosenMode(given []bool, flags *pflag.FlagSet, line string) (mode agentpb.StepMode, err error) {
	var ways []string
	var wrong error
	for i, m := range stepModes {
		if given[i] {
			mode = m.mode
			ways = append(ways, "--"+m.flag)
		}
	}
	for _, flag := range stepFlags {
		if !flags.Changed(flag.name) {
			continue
		}
		mode = flag.mode
		ways = append(ways, "--"+flag.name)
		wrong = checkStep(flags.Lookup(flag.name).Value.String())
	}
	if line != "" {
		mode = lineModes[line]
		ways = append(ways, "--line")
	}
	if len(ways) > 1 {
		return mode, usagef("%s are several ways to go; give one of them", strings.Join(ways, " and "))
	}
	return mode, wrong
}

// checkStep returns an error if no step of the catalogue has a name, or matches a glob.
func checkStep(name string) error {
	c, err := probes.Load()
	if err != nil {
		return err
	}
	_, err = stepsNamed(c, name)
	return err
}
