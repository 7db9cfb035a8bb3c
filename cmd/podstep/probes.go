package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/attach"
)

// registered are the probes that podstep attach can host, the most telling first.
// A probe is registered here and nowhere else.
var registered = []attach.Kind{attach.CRI, attach.API, attach.KubeletList}

// probeNames are those of all probes that podstep attach can host.
func probeNames() []string {
	names := make([]string, len(registered))
	for i, k := range registered {
		names[i] = k.Name
	}
	return names
}

// chooseProbes are the probes of these names, in the order in which they are
// registered; all without a name.
func chooseProbes(names []string) (out []attach.Kind, err error) {
	all := probeNames()
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, usagef("--probe %s: there is no such probe; there are %s", n, strings.Join(all, ", "))
		}
	}
	for _, k := range registered {
		if len(names) == 0 || slices.Contains(names, k.Name) {
			out = append(out, k)
		}
	}
	return out, nil
}

// completeProbes completes the last of several names.
func completeProbes(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	before := text[:strings.LastIndexByte(text, ',')+1]
	var out []string
	for _, n := range probeNames() {
		if !slices.Contains(strings.Split(before, ","), n) {
			out = append(out, before+n)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
