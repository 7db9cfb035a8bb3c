package main

import (
	"github.com/spf13/cobra"

	"github.com/podstep/podstep/cmd/podstep/node"
)

// companions returns the commands that attach and its processes start, and never a person.
func companions() (all []*cobra.Command) {
	for _, c := range []struct {
		role, short string
		run         func() error
	}{
		{"guard", "Give the runtime's socket back when podstep attach is killed", node.Guard},
		{"relay", "Stand between a kubelet and its runtime for podstep attach", node.Relay},
		{"holder", "Hold goroutines of a kubelet for podstep attach", node.Holder},
		{"debugger", "Have Delve look at a kubelet for podstep attach", node.Debugger},
		{"verbosity", "Put a kubelet's -v back when podstep attach is killed", node.VerbosityGuard},
		{"rescuer", "Keep a kubelet alive when podstep's debugger process dies", node.Rescuer},
	} {
		all = append(all, &cobra.Command{
			Use:    c.role,
			Short:  c.short,
			Hidden: true,
			Args:   arguments(0, 0, ""),
			RunE:   func(*cobra.Command, []string) error { return c.run() },
		})
	}
	return all
}
