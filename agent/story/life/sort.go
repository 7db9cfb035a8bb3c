package life

import (
	"cmp"
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
)

// SortWorst sorts pods by their state, the worst first, then by name.
func SortWorst(pods []*agentpb.PodState) {
	slices.SortStableFunc(pods, CompareWorst)
}

// CompareWorst compares two pods in that order.
func CompareWorst(a, b *agentpb.PodState) int {
	x, _ := StateNamed(a.GetState())
	y, _ := StateNamed(b.GetState())
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.GetPod().GetNamespace(), b.GetPod().GetNamespace()), cmp.Compare(a.GetPod().GetName(), b.GetPod().GetName()))
}
