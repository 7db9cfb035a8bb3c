package node

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/probes/reasons"
)

// registered are the probes that podstep attach can host, the one that sees most first.
// A probe is registered here and nowhere else.
var registered = []attach.Kind{attach.CRI, attach.Uprobe, attach.Delve, attach.Logs, attach.API, attach.KubeletList}

// ProbeNames returns the names of all probes that podstep attach can host.
func ProbeNames() []string {
	names := make([]string, len(registered))
	for i, k := range registered {
		names[i] = k.Name
	}
	return names
}

// withDelve adds the delve probe to the named ones if there is a Delve to use. If none is
// named, the delve probe takes the place of the uprobe probe, which sees the same steps.
func withDelve(names []string, address string) []string {
	if address == "" || slices.Contains(names, attach.Delve.Name) {
		return names
	}
	if len(names) > 0 {
		return append(slices.Clone(names), attach.Delve.Name)
	}
	var all []string
	for _, k := range registered {
		if k.Name == attach.Delve.Name || !k.OnRequest && k.Name != attach.Uprobe.Name {
			all = append(all, k.Name)
		}
	}
	return all
}

// chooseProbes returns the probes of these names, in the order in which they are registered;
// all without a name. If passive is set, it leaves out the probes that stand in the path of the
// kubelet's calls.
func chooseProbes(names []string, passive bool) (out []attach.Kind, leftOut []attach.LeftOut, err error) {
	all := ProbeNames()
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, nil, usagef("--probe %s: there is no such probe; there are %s", n, strings.Join(all, ", "))
		}
	}
	for _, k := range registered {
		named := slices.Contains(names, k.Name)
		switch {
		case passive && k.InPath && named:
			return nil, nil, usagef("--passive and --probe %s: this probe works by standing in the path of the kubelet's calls, where --passive wants nothing; leave one of the two out", k.Name)
		case passive && k.InPath:
			leftOut = append(leftOut, attach.LeftOut{Kind: k, Why: reasons.Passive.Reason()})
		case len(names) == 0 && !k.OnRequest || named:
			out = append(out, k)
		case k.InPath: // the abilities of others are known only once they are there
			leftOut = append(leftOut, attach.LeftOut{Kind: k, Why: reasons.NotNamed.Reason()})
		}
	}
	return out, leftOut, nil
}

// withAllCalls makes the cri probe see all calls.
func withAllCalls(kinds []attach.Kind) ([]attach.Kind, error) {
	i := slices.IndexFunc(kinds, func(k attach.Kind) bool { return k.Name == attach.CRI.Name })
	if i < 0 {
		return nil, usagef("--all-calls is for the cri probe, and that is left out: leave out --passive, or name cri with --probe")
	}
	kinds[i] = attach.AllCalls
	return kinds, nil
}
