package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/spf13/cobra"
)

func (a *app) completion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the script that lets a shell complete podstep commands",
		Example: `  source <(podstep completion bash)
  podstep completion zsh > "${fpath[1]}/_podstep"
  podstep completion fish > ~/.config/fish/completions/podstep.fish`,
		Args:      arguments(1, 1, "the name of a shell"),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return usagef("there is no completion for %q; shells are %s", args[0], strings.Join(shells, ", "))
		},
	}
}

// completionTime is how long a person who pressed Tab waits without anger.
const completionTime = time.Second

const noFiles = cobra.ShellCompDirectiveNoFileComp

// askAgent gives the agent a moment to help with a completion. Without an agent there is
// nothing to complete, and no error to show in the middle of a line.
func (a *app) askAgent(cmd *cobra.Command, do func(context.Context, *client.Client)) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	c, err := a.dial(ctx)
	if err != nil {
		return
	}
	defer c.Close()
	do(ctx, c)
}

func (a *app) completePods(cmd *cobra.Command, args []string, typed string) (out []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	sel := &agentpb.PodSelector{}
	if f := cmd.Flags().Lookup("namespace"); f != nil {
		sel.Namespace = f.Value.String()
	}
	a.askAgent(cmd, func(ctx context.Context, c *client.Client) {
		answer, err := c.Pods(ctx, &agentpb.PodsRequest{Pods: sel})
		if err != nil {
			return
		}
		for _, p := range answer.Pods {
			name := p.Pod.GetName()
			if strings.Contains(typed, "/") {
				name = wire.PodOf(p.Pod).NamespacedName()
			}
			out = append(out, words.Clean(name)+"\t"+words.Clean(p.Pod.GetNamespace()+" "+p.State))
		}
	})
	return out, noFiles
}

func (a *app) completeBreakpoints(cmd *cobra.Command, args []string, _ string) (out []string, _ cobra.ShellCompDirective) {
	a.askAgent(cmd, func(ctx context.Context, c *client.Client) {
		answer, err := c.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
		if err != nil {
			return
		}
		for _, b := range answer.Breakpoints {
			if id := number(b.Id); !slices.Contains(args, id) {
				out = append(out, id+"\t"+words.Clean(b.GetSpec().GetStep()))
			}
		}
	})
	return out, noFiles
}

func completeSteps(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if strings.HasPrefix(typed, "stage") {
		stages, _ := completeStages(nil, nil, "")
		for i := range stages {
			stages[i] = stagePrefix + stages[i]
		}
		return stages, noFiles
	}
	return stepCompletions(), noFiles
}

func completeStepArg(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return completeSteps(cmd, args, typed)
}

func stepCompletions() (out []string) {
	c, err := probes.Load()
	if err != nil {
		return nil
	}
	for i := range c.Steps {
		out = append(out, c.Steps[i].Name+"\t"+c.Steps[i].Title.En)
	}
	return out
}

func completeStages(*cobra.Command, []string, string) (out []string, _ cobra.ShellCompDirective) {
	c, err := probes.Load()
	if err != nil {
		return nil, noFiles
	}
	for _, s := range c.Stages {
		out = append(out, s.Name+"\t"+s.Title.En)
	}
	return out, noFiles
}
