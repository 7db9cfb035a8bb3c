//go:build linux

package uprobe

import (
	"regexp"
	"slices"

	"github.com/podstep/podstep/probes"
)

// A table that does not fit a kubelet leads to other memory. The values read there are believed only if they can be a
// pod's. A step at which they cannot be is refused from then on. Nothing of such memory is shown: it may be anything,
// even a secret.

var (
	// uidForm is a UUID, or the hash that the kubelet gives static pods.
	uidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$|^[0-9a-f]{32}$`)
	// nameForm is the form of names and namespaces.
	nameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	// idForm is the form of the runtime's ids.
	idForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_.-]{0,127}$`)
)

// maxGoid is more than the number of goroutines that a kubelet ever starts.
const maxGoid = 1 << 48

// disbelief returns why the values that were read as a call's pods cannot be pods; empty: they can.
func disbelief(pods []any) string {
	for _, v := range pods {
		switch v := v.(type) {
		case probes.PodRef:
			if why := notPod(v); why != "" {
				return why
			}
		case []probes.PodRef:
			for _, p := range v {
				if why := notPod(p); why != "" {
					return why
				}
			}
		case string:
			if !idForm.MatchString(v) {
				return "what it reads as an id of the runtime is none"
			}
		}
	}
	return ""
}

func notPod(p probes.PodRef) string {
	switch {
	case !uidForm.MatchString(p.UID):
		return "what it reads as a pod's UID is none"
	case p.Namespace != "" && !nameForm.MatchString(p.Namespace):
		return "what it reads as a pod's namespace is none"
	case p.Name != "" && !nameForm.MatchString(p.Name):
		return "what it reads as a pod's name is none"
	}
	return ""
}

// belief states whether the pods that are read at a step are believed.
type belief int

const (
	undecided belief = iota
	believed
	refused
)

// believes reports whether a call's pods can be pods. If not, and the step has had no pod so far, the step is
// refused.
func (c *calls) believes(s *step, pods []any) bool {
	if c.beliefs[s] == refused {
		return false
	}
	why := disbelief(pods)
	switch {
	case why != "" && c.beliefs[s] == undecided:
		c.beliefs[s] = refused
		c.handler.Refused(s.Step, why)
	case why == "" && slices.ContainsFunc(pods, func(v any) bool { return v != nil }):
		c.beliefs[s] = believed
	}
	return why == ""
}
