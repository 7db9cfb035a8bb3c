package main

import (
	"github.com/spf13/cobra"

	"github.com/podstep/podstep/cmd/podstep/node"
)

// guard is started by attach, never by a person: it outlives it, and gives the
// runtime's socket back if attach did not.
func (a *app) guard() *cobra.Command {
	return &cobra.Command{
		Use:    "guard",
		Short:  "Give the runtime's socket back when podstep attach is killed",
		Hidden: true,
		Args:   arguments(0, 0, ""),
		RunE:   func(*cobra.Command, []string) error { return node.Guard() },
	}
}

// relay is started by attach, never by a person: the kubelet's calls go through it.
func (a *app) relay() *cobra.Command {
	return &cobra.Command{
		Use:    "relay",
		Short:  "Stand between a kubelet and its runtime for podstep attach",
		Hidden: true,
		Args:   arguments(0, 0, ""),
		RunE:   func(*cobra.Command, []string) error { return node.Relay() },
	}
}

// debugger is started by attach, never by a person: it has Delve in it.
func (a *app) debugger() *cobra.Command {
	return &cobra.Command{
		Use:    "debugger",
		Short:  "Have Delve look at a kubelet for podstep attach",
		Hidden: true,
		Args:   arguments(0, 0, ""),
		RunE:   func(*cobra.Command, []string) error { return node.Debugger() },
	}
}

// holder is started by attach, never by a person: it holds goroutines of the kubelet.
func (a *app) holder() *cobra.Command {
	return &cobra.Command{
		Use:    "holder",
		Short:  "Hold goroutines of a kubelet for podstep attach",
		Hidden: true,
		Args:   arguments(0, 0, ""),
		RunE:   func(*cobra.Command, []string) error { return node.Holder() },
	}
}
