package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd"

	"github.com/podstep/podstep/agent/labstate"
)

// kubectlCommand is kubectl itself, with plugins, so that a lab can be used on a machine that has none:
// `podstep-lab kubectl --dir DIR get pods`.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl --dir DIR ARGS...",
		Short:              "Run kubectl against a lab",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || args[0] != "--dir" {
				return &flagError{fmt.Errorf("which lab? e.g. podstep-lab kubectl --dir DIR get pods")}
			}
			state, err := labstate.Read(args[1])
			if err != nil {
				return err
			}
			if err := os.Setenv("KUBECONFIG", state.Kubeconfig); err != nil {
				return fmt.Errorf("set KUBECONFIG: %w", err)
			}
			kubectl := cmd.NewDefaultKubectlCommandWithArgs(cmd.KubectlOptions{
				PluginHandler: cmd.NewDefaultPluginHandler([]string{"kubectl"}),
				Arguments:     append([]string{"kubectl"}, args[2:]...),
				ConfigFlags:   genericclioptions.NewConfigFlags(true),
				IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
			})
			kubectl.SetArgs(args[2:])
			return kubectl.Execute()
		},
	}
}
