package client

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Watch streams events, as the agent's Watch does.
type Watch struct {
	batches interface {
		Recv() (*agentpb.Batch, error)
	}
	decode *wire.Decoder
}

// Batch is a batch of events that came at once.
type Batch struct {
	Events []probes.Event
	// CaughtUp is set on the first batch after what the recorder remembered.
	CaughtUp bool
	// Raw is the batch as it came, for callers that record it.
	Raw *agentpb.Batch
}

// Watch asks the agent for events. The stream ends when ctx does.
func (c *Client) Watch(ctx context.Context, req *agentpb.WatchRequest) (*Watch, error) {
	s, err := c.AgentClient.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &Watch{batches: s, decode: wire.NewDecoder(c.info)}, nil
}

// WatchClosely makes the agent's probes look at all steps of the pods until ctx ends, not only at those that they look at all the
// time. It returns when they do. An agent of before this request shows what it shows anyway.
func (c *Client) WatchClosely(ctx context.Context, pods *agentpb.PodSelector) error {
	s, err := c.AgentClient.WatchClosely(ctx, &agentpb.WatchCloselyRequest{Pods: pods})
	if err == nil {
		_, err = s.Recv()
	}
	if status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}

// Next waits for the next batch. It returns io.EOF when the agent has sent all that was asked for.
func (w *Watch) Next() (Batch, error) {
	b, err := w.NextRaw()
	if err != nil {
		return Batch{}, err
	}
	return Batch{Events: w.decode.Batch(b), CaughtUp: b.CaughtUp, Raw: b}, nil
}

// NextRaw is Next for a caller that decodes the events itself, by package wire, or not at all. It does not learn the
// pods of the batch, so a stream is read by Next alone or by NextRaw alone.
func (w *Watch) NextRaw() (*agentpb.Batch, error) { return w.batches.Recv() }
