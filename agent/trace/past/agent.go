package past

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
)

// Asked is an agent that has a record directory. Its segments are read over the connection to it, those of the choice
// alone, and each when its turn comes.
type Asked struct {
	// Context ends the reading.
	Context context.Context
	// Name names the record in messages.
	Name string
	// Agent is the connection; agent/client has one.
	Agent interface {
		Segments(context.Context, *agentpb.SegmentsRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[agentpb.Segment], error)
		ReadSegment(context.Context, *agentpb.ReadSegmentRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[agentpb.SegmentBytes], error)
	}
}

func (a *Asked) String() string { return a.Name }

// written: the agent writes for as long as it answers.
func (a *Asked) written() bool { return true }

// mostSegments bounds the segments that an agent may list. A directory of the usual size has some hundreds.
const mostSegments = 1 << 16

func (a *Asked) survey(pods *agentpb.PodSelector) (out []*part, notes []string, err error) {
	ctx, cancel := context.WithCancel(a.Context)
	defer cancel()
	stream, err := a.Agent.Segments(ctx, &agentpb.SegmentsRequest{Pods: pods})
	if err != nil {
		return nil, nil, err
	}
	for len(out) < mostSegments {
		s, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return out, notes, nil
		case err != nil:
			return nil, nil, err
		case s.GetNote() != "":
			notes = append(notes, s.GetNote())
			continue
		}
		p, err := partOf(s)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, p)
	}
	return out, notes, nil
}

// partOf returns a segment that an agent has listed.
func partOf(s *agentpb.Segment) (*part, error) {
	number, ok := numberOf(s.GetName())
	if !ok {
		return nil, fmt.Errorf("the agent lists a segment with the name %q", s.GetName())
	}
	x, err := decodeIndex(s.GetIndex())
	if err != nil {
		return nil, err
	}
	return &part{name: s.GetName(), number: number, index: x, torn: s.GetTorn()}, nil
}

func (a *Asked) open(p *part) (trace.Recording, error) {
	ctx, cancel := context.WithCancel(a.Context)
	stream, err := a.Agent.ReadSegment(ctx, &agentpb.ReadSegmentRequest{Name: p.name})
	if err == nil {
		in := &pieces{stream: stream}
		r, failed := trace.NewReader(in)
		if failed == nil {
			return &sent{r, in, cancel}, nil
		}
		err = cmp.Or(in.failed, failed)
	}
	cancel()
	if status.Code(err) == codes.NotFound {
		err = errors.Join(fs.ErrNotExist, err)
	}
	return nil, err
}

// sent is a segment that an agent sends.
type sent struct {
	*trace.Reader
	in     *pieces
	cancel context.CancelFunc
}

// Next returns the next batch of the trace. A broken connection is its own error, and no damage to the trace.
func (s *sent) Next() (*agentpb.Batch, error) {
	b, err := s.Reader.Next()
	if err != nil && s.in.failed != nil {
		return nil, s.in.failed
	}
	return b, err
}

func (s *sent) Close() error {
	s.cancel()
	return s.Reader.Close()
}

// pieces reads what a stream brings.
type pieces struct {
	stream grpc.ServerStreamingClient[agentpb.SegmentBytes]
	piece  []byte
	failed error // nil: it goes on, or has ended
}

func (p *pieces) Read(b []byte) (int, error) {
	for len(p.piece) == 0 {
		next, err := p.stream.Recv()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.failed = err
			}
			return 0, err
		}
		p.piece = next.GetData()
	}
	n := copy(b, p.piece)
	p.piece = p.piece[n:]
	return n, nil
}
