package journal

import "github.com/podstep/podstep/agent/agentpb"

// maxSentPods bounds the pods that a watcher remembers. It does a client no harm to be sent a pod again.
const maxSentPods = 2048

// sentPods are the pods that a watcher was sent, and whether by their names, too.
type sentPods map[*Pod]bool

// batch makes a batch of events, with the pods that it introduces.
func (s sentPods) batch(events []kept) *agentpb.Batch {
	b := &agentpb.Batch{Events: make([][]byte, 0, len(events))}
	for _, e := range events {
		if p := s.pod(e.pod); p != nil {
			b.Pods = append(b.Pods, p)
		}
		b.Events = append(b.Events, e.data)
	}
	return b
}

// pod returns what is to be sent of a pod before an event of it; nil: nothing. A pod that was sent by its uid alone is
// sent again once its name is known.
func (s sentPods) pod(of *Pod) *agentpb.Pod {
	if of == nil || s[of] {
		return nil
	}
	p := of.Proto()
	if _, sent := s[of]; sent && p.Name == "" {
		return nil
	}
	if len(s) >= maxSentPods {
		clear(s)
	}
	s[of] = p.Name != ""
	return p
}
