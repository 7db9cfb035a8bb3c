package agent

import (
	"context"
	"errors"
	"io/fs"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// Record keeps the agent's events on a disk.
type Record interface {
	// Stats returns how that goes. It must not wait.
	Stats() *agentpb.RecordDir
	// Segments returns the segments, the oldest first, with indexes that list the pods that are selected.
	Segments(pods *agentpb.PodSelector) ([]*agentpb.Segment, error)
	// Read calls send with the bytes of a segment. The error is fs.ErrNotExist if there is none of that name.
	Read(name string, send func([]byte) error) error
}

// ServeRecord lets clients read a record.
func (a *Agent) ServeRecord(r Record) { a.record.Store(&r) }

// RecordDir returns how the recording to a directory goes; nil: nothing is recorded.
func (a *Agent) RecordDir() *agentpb.RecordDir {
	if r := a.record.Load(); r != nil {
		return (*r).Stats()
	}
	return nil
}

func (s *service) Segments(req *agentpb.SegmentsRequest, stream grpc.ServerStreamingServer[agentpb.Segment]) error {
	all, err := s.agent.segments(stream.Context(), req.GetPods())
	for _, one := range all {
		if err := stream.Send(one); err != nil {
			return err
		}
	}
	return err
}

// segments lists the segments of the record. One request at a time does so: the processor is the node's.
func (a *Agent) segments(ctx context.Context, pods *agentpb.PodSelector) ([]*agentpb.Segment, error) {
	r := a.record.Load()
	if r == nil {
		return nil, refused(agentpb.Problem_NOT_RECORDED, nil)
	}
	select {
	case a.listing <- struct{}{}:
		defer func() { <-a.listing }()
		return (*r).Segments(pods)
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (s *service) ReadSegment(req *agentpb.ReadSegmentRequest, stream grpc.ServerStreamingServer[agentpb.SegmentBytes]) error {
	r := s.agent.record.Load()
	if r == nil {
		return refused(agentpb.Problem_NOT_RECORDED, nil)
	}
	err := (*r).Read(req.GetName(), func(data []byte) error { return stream.Send(&agentpb.SegmentBytes{Data: data}) })
	if errors.Is(err, fs.ErrNotExist) {
		return reason.Failed(codes.NotFound, problem(agentpb.Problem_SEGMENT_GONE, args{"name": req.GetName()}))
	}
	return err
}
