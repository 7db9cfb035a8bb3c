package agent

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
)

func (s *service) Watch(req *agentpb.WatchRequest, stream grpc.ServerStreamingServer[agentpb.Batch]) error {
	w, err := s.agent.newWatcher(req)
	if err != nil {
		return err
	}
	j := s.agent.journal
	if err := j.watch(w, req.GetHistory() || req.GetOnlyHistory()); err != nil {
		return err
	}
	defer j.unwatch(w)
	send := newSender(stream)
	if w.history != nil {
		for events := w.history.read(); len(events) > 0; events = w.history.read() {
			if err := send.batch(events); err != nil {
				return err
			}
		}
	}
	if err := send.stream.Send(&agentpb.Batch{CaughtUp: true, Seq: w.began}); err != nil || req.GetOnlyHistory() {
		return err
	}
	for {
		events, err := w.next(stream.Context())
		if err != nil {
			return status.FromContextError(err).Err()
		}
		if err := send.batch(events); err != nil {
			return err
		}
	}
}

// maxSentPods bounds the pods that a sender remembers. It does a client no harm to be sent a pod again.
const maxSentPods = 2048

// sender sends batches, and each pod before its first event.
type sender struct {
	stream grpc.ServerStreamingServer[agentpb.Batch]
	sent   sentPods
}

func newSender(stream grpc.ServerStreamingServer[agentpb.Batch]) *sender {
	return &sender{stream: stream, sent: sentPods{}}
}

func (s *sender) batch(events []kept) error { return s.stream.Send(s.sent.batch(events)) }

// sentPods are the pods that a stream has introduced, and whether by their names, too.
type sentPods map[*pod]bool

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
func (s sentPods) pod(of *pod) *agentpb.Pod {
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
