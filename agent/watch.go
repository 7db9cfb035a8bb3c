package agent

import (
	"path"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
)

func (s *service) Watch(req *agentpb.WatchRequest, stream grpc.ServerStreamingServer[agentpb.Batch]) error {
	if err := s.agent.settle(stream.Context()); err != nil {
		return status.FromContextError(err).Err()
	}
	w, err := s.agent.watch(req)
	if err != nil {
		return err
	}
	defer w.Close()
	for past := w.History(); past != nil; past = w.History() {
		if err := stream.Send(past); err != nil {
			return err
		}
	}
	if err := stream.Send(&agentpb.Batch{CaughtUp: true, Seq: w.Began()}); err != nil || req.GetOnlyHistory() {
		return err
	}
	for {
		events, err := w.Next(stream.Context())
		if err != nil {
			return status.FromContextError(err).Err()
		}
		if err := stream.Send(events); err != nil {
			return err
		}
	}
}

// Watched reports whether a client is sent events as they come.
func (a *Agent) Watched() bool { return a.journal.Watched() }

// watch adds a watcher of the events that a request selects.
func (a *Agent) watch(req *agentpb.WatchRequest) (*journal.Watcher, error) {
	sel, err := pods.NewSelector(req.GetPods())
	if err != nil {
		return nil, err
	}
	want := journal.Wanted{Pods: sel, Node: req.GetNode(), History: req.GetHistory() || req.GetOnlyHistory(), Live: !req.GetOnlyHistory()}
	if len(req.GetSteps()) > 0 {
		want.Steps = map[uint32]bool{}
		for _, glob := range req.GetSteps() {
			ids, err := a.matchSteps(glob)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				want.Steps[uint32(id)+1] = true
			}
		}
	}
	return a.journal.Watch(want)
}

// matchSteps returns the ids of the steps that match a glob, or that are of a
// stage if it reads stage:NAME.
func (a *Agent) matchSteps(glob string) ([]int, error) {
	stage, isStage := strings.CutPrefix(glob, "stage:")
	if _, err := path.Match(glob, ""); err != nil {
		return nil, invalid(agentpb.Problem_BAD_STEP_PATTERN, args{"pattern": glob})
	}
	var ids []int
	for i := range a.steps {
		s := &a.steps[i]
		ok, _ := path.Match(glob, s.Name)
		if ok || (isStage && s.Stage == stage) {
			ids = append(ids, i)
		}
	}
	if len(ids) == 0 {
		return nil, invalid(agentpb.Problem_STEP_NOT_FOUND, args{"pattern": glob})
	}
	return ids, nil
}
