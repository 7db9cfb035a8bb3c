package agent

import (
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
)

// pod is a pod that the agent has seen.
type pod = pods.Entry[podState]

// podState is what the agent keeps of a pod. All but the journal's part can be read without a lock: the kubelet's
// goroutines do so at every step.
type podState struct {
	journal journal.Pod
	sync    atomic.Uint32 // turns of its worker so far
	updates atomic.Uint32 // updates that its worker was sent so far
	// pending is the hold that a person asked for at one of the pod's next steps, or nil.
	pending atomic.Pointer[pendingHold]
	retry   atomic.Pointer[retry]  // what a person asked for, or nil
	noHold  atomic.Pointer[string] // why it may not be held any more
	// running are the kubelet's timers that run for the pod.
	running running
}

// onePod returns the one pod that a request means. If several pods had the name one after the other, it is the one that
// lives.
func (a *Agent) onePod(req *agentpb.PodSelector) (*pod, error) {
	s, err := pods.NewSelector(req)
	if err != nil {
		return nil, err
	}
	if req.GetName() == "" && req.GetUid() == "" {
		return nil, invalid(agentpb.Problem_POD_NOT_NAMED, nil)
	}
	var live, gone []*pod
	for _, p := range a.pods.All() {
		switch {
		case !p.Is(s):
		case p.Gone():
			gone = append(gone, p)
		default:
			live = append(live, p)
		}
	}
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) > 1:
		return nil, invalid(agentpb.Problem_POD_AMBIGUOUS, args{"count": strconv.Itoa(len(live)), "pod": req.Written(), "pods": podNames(live)})
	case len(gone) > 0:
		return nil, notFound(agentpb.Problem_POD_GONE, args{"pod": req.Written()})
	}
	return nil, notFound(agentpb.Problem_POD_NOT_FOUND, args{"pod": req.Written()})
}

// podNames returns the names of at most five of the pods, as a text.
func podNames(pods []*pod) string {
	var names []string
	for _, p := range pods {
		names = append(names, p.FullName())
	}
	sort.Strings(names)
	if len(names) > 5 {
		names = append(names[:5], "...")
	}
	return strings.Join(names, ", ")
}

// mayNotBeHeld returns why the pod may not be held any more, or "".
func mayNotBeHeld(p *pod) string {
	if no := p.State.noHold.Load(); no != nil {
		return *no
	}
	return ""
}

// checkForce returns an error for a pod that may not be held any more and, without force, for a pod on which the node
// or the cluster depends.
func checkForce(p *pod, force bool) error {
	if no := mayNotBeHeld(p); no != "" {
		return refused(agentpb.Problem_NOT_HOLDABLE, args{"pod": p.FullName(), "reason": no})
	}
	if why := p.Critical(); why != nil && !force {
		return refusedFor(why, agentpb.Problem_CRITICAL_POD, args{"pod": p.FullName()})
	}
	return nil
}

// gracePeriod returns how long the pod may take to end, by its object: the grace of its deletion if it is deleted, else
// the grace of its spec.
func gracePeriod(p *pod) time.Duration {
	if m := p.Meta(); m != nil && m.Grace != nil {
		return *m.Grace
	}
	return 30 * time.Second // the API server's default
}

func hasSidecars(p *pod) bool {
	m := p.Meta()
	return m != nil && m.Sidecars
}
