package recording

import (
	"slices"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// Way says how much of a pod can be seen.
type Way string

// The ways.
const (
	// API: the API server alone, far from the node, without nodes/proxy.
	API Way = "api"
	// Near: the API server, the kubelet's port, the runtime and the machine; no probe.
	Near Way = "near"
	// Attach: as Near, with podstep attach beside an unmodified kubelet.
	Attach Way = "attach"
	// Woven: as Near, with a woven kubelet.
	Woven Way = "woven"
)

// Ways are all ways, the least first.
var Ways = []Way{API, Near, Attach, Woven}

// Mask returns a snapshot without what a way does not see. The snapshot needs the API server's
// pod: without one, its events may be the story's.
func (w Way) Mask(s *evidence.Snapshot) *evidence.Snapshot {
	out := *s
	sees := func(source evidence.Source) bool { return true }
	switch w {
	case API:
		out.KubeletPod, out.Kubelet, out.Runtime, out.Machine, out.Story = nil, nil, nil, nil, nil
		sees = func(source evidence.Source) bool { return source == evidence.API }
	case Near:
		out.Story = nil
		sees = func(source evidence.Source) bool { return source != evidence.Agent }
	}
	out.Origins = slices.DeleteFunc(slices.Clone(s.Origins), func(o evidence.Origin) bool { return !sees(o.Source) })
	out.Unseen = slices.DeleteFunc(slices.Clone(s.Unseen), func(u evidence.Unseen) bool { return !sees(u.Source) })
	return &out
}
