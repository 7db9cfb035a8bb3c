package client

import (
	"context"
	"path"

	"google.golang.org/grpc"

	"github.com/podstep/podstep/agent/agentpb"
)

// Reader is a connection to an agent that can only look. It has no method that changes anything, and its connection
// refuses such requests, too: it sends only those of a list. A hold or a fault cannot come out of code that has nothing
// but a Reader.
type Reader struct{ client *Client }

// DialReader is Dial for a client that only looks.
func DialReader(ctx context.Context, path string) (*Reader, error) { return ReachReader(ctx, At(path)) }

// ReachReader is Reach for a client that only looks.
func ReachReader(ctx context.Context, p Place) (*Reader, error) { return dialReader(ctx, newDialer(p)) }

func dialReader(ctx context.Context, d *dialer) (*Reader, error) {
	d.looks.Store(true)
	c, err := dialBy(ctx, d)
	if err != nil {
		return nil, err
	}
	return c.Reader(), nil
}

// Reader makes a connection one that only looks, for good, and returns it as such.
func (c *Client) Reader() *Reader {
	c.dialer.looks.Store(true)
	return &Reader{c}
}

// refuse returns an error for a request that is not among those that change nothing.
func refuse(method string) error {
	if agentpb.OnlyLooks(method) {
		return nil
	}
	return newError(Denied, nil, text("this podstep only looks, and %s is not sent: it could change something", "这个 podstep 只查看，不发送 %s：它可能改变某些东西"), path.Base(method))
}

// About returns what the agent reported about itself when it was dialled.
func (r *Reader) About() *agentpb.InfoResponse { return r.client.About() }

// Place returns where the agent is.
func (r *Reader) Place() Place { return r.client.Place }

// Close ends the connection.
func (r *Reader) Close() error { return r.client.Close() }

// Info asks the agent what it is and can do, now.
func (r *Reader) Info(ctx context.Context, in *agentpb.InfoRequest, opts ...grpc.CallOption) (*agentpb.InfoResponse, error) {
	return r.client.Info(ctx, in, opts...)
}

// Watch asks the agent for events. The stream ends when ctx does.
func (r *Reader) Watch(ctx context.Context, in *agentpb.WatchRequest) (*Watch, error) {
	return r.client.Watch(ctx, in)
}

// WatchClosely asks for all steps of pods, until ctx ends.
func (r *Reader) WatchClosely(ctx context.Context, pods *agentpb.PodSelector) error {
	return r.client.WatchClosely(ctx, pods)
}

// Pods asks what every pod is doing.
func (r *Reader) Pods(ctx context.Context, in *agentpb.PodsRequest, opts ...grpc.CallOption) (*agentpb.PodsResponse, error) {
	return r.client.Pods(ctx, in, opts...)
}

// Stats asks how the agent itself is doing.
func (r *Reader) Stats(ctx context.Context, in *agentpb.StatsRequest, opts ...grpc.CallOption) (*agentpb.StatsResponse, error) {
	return r.client.Stats(ctx, in, opts...)
}

// ListBreakpoints asks for the breakpoints that are set.
func (r *Reader) ListBreakpoints(ctx context.Context, in *agentpb.ListBreakpointsRequest, opts ...grpc.CallOption) (*agentpb.ListBreakpointsResponse, error) {
	return r.client.ListBreakpoints(ctx, in, opts...)
}

// ListHolds asks which pods are held.
func (r *Reader) ListHolds(ctx context.Context, in *agentpb.ListHoldsRequest, opts ...grpc.CallOption) (*agentpb.ListHoldsResponse, error) {
	return r.client.ListHolds(ctx, in, opts...)
}

// Segments asks which segments the agent's record directory has.
func (r *Reader) Segments(ctx context.Context, in *agentpb.SegmentsRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[agentpb.Segment], error) {
	return r.client.Segments(ctx, in, opts...)
}

// ReadSegment asks for the bytes of a segment.
func (r *Reader) ReadSegment(ctx context.Context, in *agentpb.ReadSegmentRequest, opts ...grpc.CallOption) (grpc.ServerStreamingClient[agentpb.SegmentBytes], error) {
	return r.client.ReadSegment(ctx, in, opts...)
}
