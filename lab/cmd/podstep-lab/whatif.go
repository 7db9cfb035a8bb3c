package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/version"

	"github.com/podstep/podstep/lab/whatif"
)

// whatifCommand returns the command by which podstep whatif makes plans with the kubelet's code in this program.
func whatifCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "whatif",
		Short:  "Read a question of podstep whatif from stdin, and answer it to stdout",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			return whatif.Answer(os.Stdin, os.Stdout, version.Get().GitVersion)
		},
	}
}
