package causes

import (
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
)

// isCallOf reports whether a call of the story is one of a wanted step.
func isCallOf(k *evidence.Call, wanted func(*probes.Step) bool) bool {
	step := probes.MustLoad().Step(k.Step)
	return step != nil && wanted(step)
}

// ofRole wants the steps of a role.
func ofRole(r probes.Role) func(*probes.Step) bool {
	return func(st *probes.Step) bool { return st.Story.Role == r }
}

// ofFunction wants the step of a function or method of the kubelet.
func ofFunction(name string) func(*probes.Step) bool {
	return func(st *probes.Step) bool { return strings.HasSuffix(st.Symbol, "."+name) }
}
