package node

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/attach"
)

// registered are the probes that podstep attach can host, the most telling first.
// A probe is registered here and nowhere else.
var registered = []attach.Kind{attach.CRI, attach.API, attach.KubeletList}

// ProbeNames are those of all probes that podstep attach can host.
func ProbeNames() []string {
	names := make([]string, len(registered))
	for i, k := range registered {
		names[i] = k.Name
	}
	return names
}

// chooseProbes are the probes of these names, in the order in which they are
// registered; all without a name.
func chooseProbes(names []string) (out []attach.Kind, err error) {
	all := ProbeNames()
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
