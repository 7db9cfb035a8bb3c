package past

import (
	"cmp"

	"github.com/podstep/podstep/agent/agentpb"
)

// podNumbers gives each pod one number, whatever numbers the agents gave it. Those of the first agent stay.
type podNumbers struct {
	chosen *agentpb.PodSelector
	known  map[string]uint32 // by UID, or by name if there is none
	used   map[uint32]bool   // numbers of the recording
	here   map[uint32]uint32 // by this agent's numbers
	wanted map[uint32]bool   // by the recording's
	most   uint32            // the highest of them
}

func newPodNumbers(chosen *agentpb.PodSelector) podNumbers {
	return podNumbers{chosen: chosen, known: map[string]uint32{}, used: map[uint32]bool{}, here: map[uint32]uint32{}, wanted: map[uint32]bool{}}
}

// beginRun forgets the numbers of the agent before.
func (n *podNumbers) beginRun() { clear(n.here) }

// introduce returns a pod with the recording's number; nil: it is none of the chosen ones.
func (n *podNumbers) introduce(p *agentpb.Pod) *agentpb.Pod {
	key := cmp.Or(p.GetUid(), p.GetNamespace()+"/"+p.GetName())
	id, ok := n.here[p.GetId()]
	if !ok {
		if id, ok = n.known[key]; !ok {
			id = n.free(p.GetId())
		}
	}
	n.here[p.GetId()], n.known[key], n.used[id] = id, id, true
	n.most = max(n.most, id)
	n.wanted[id] = selects(n.chosen, podName{p.GetNamespace(), p.GetName(), p.GetUid()})
	if !n.wanted[id] {
		return nil
	}
	return &agentpb.Pod{Id: id, Namespace: p.GetNamespace(), Name: p.GetName(), Uid: p.GetUid()}
}

// free returns a number that no pod has, the given one if it can be.
func (n *podNumbers) free(id uint32) uint32 {
	if id == 0 || n.used[id] {
		id = n.most + 1
	}
	return id
}

// of returns the recording's number of an agent's pod, and whether its events are wanted. Pod 0 is the node.
func (n *podNumbers) of(id uint32) (pod uint32, wanted bool) {
	if id == 0 {
		return 0, true
	}
	pod, ok := n.here[id]
	if !ok {
		return id, n.chosen == nil
	}
	return pod, n.wanted[pod]
}
