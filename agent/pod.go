package agent

import (
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
)

// pod is a pod that the agent has seen.
type pod = pods.Entry[podState]

// podState is what the agent keeps of a pod. All but the journal's part can be read without a lock: the kubelet's
// goroutines do so at every step.
type podState struct {
	journal journal.Pod
	holding holding.Pod[crossing]
	sync    atomic.Uint32         // turns of its worker so far
	updates atomic.Uint32         // updates that its worker was sent so far
	retry   atomic.Pointer[retry] // what a person asked for, or nil
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
