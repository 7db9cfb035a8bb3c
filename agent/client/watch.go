package client

import (
	"context"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Watch streams events, as the agent's Watch does.
type Watch struct {
	batches interface {
		Recv() (*agentpb.Batch, error)
	}
	decode *decoder
}

// Batch is what came at once.
type Batch struct {
	Events []probes.Event
	// CaughtUp is set on the first batch after what the recorder remembered.
	CaughtUp bool
}

// Watch asks the agent for events. It ends when ctx does.
func (c *Client) Watch(ctx context.Context, req *agentpb.WatchRequest) (*Watch, error) {
	s, err := c.AgentClient.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &Watch{batches: s, decode: newDecoder(c.info)}, nil
}

// Next waits for the next batch. It returns io.EOF when the agent has ended the
// stream because all that was asked for has been told.
func (w *Watch) Next() (Batch, error) {
	b, err := w.batches.Recv()
	if err != nil {
		return Batch{}, err
	}
	return w.decode.batch(b), nil
}
