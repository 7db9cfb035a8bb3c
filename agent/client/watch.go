package client

import (
	"context"

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

// Batch is what came at once.
type Batch struct {
	Events []probes.Event
	// CaughtUp is set on the first batch after what the recorder remembered.
	CaughtUp bool
	// Raw is the batch as it came, for those who record it.
	Raw *agentpb.Batch
}

// Watch asks the agent for events. It ends when ctx does.
func (c *Client) Watch(ctx context.Context, req *agentpb.WatchRequest) (*Watch, error) {
	s, err := c.AgentClient.Watch(ctx, req)
	if err != nil {
		return nil, err
	}
	return &Watch{batches: s, decode: wire.NewDecoder(c.info)}, nil
}

// Next waits for the next batch. It returns io.EOF when the agent has ended the
// stream because all that was asked for has come.
func (w *Watch) Next() (Batch, error) {
	b, err := w.NextRaw()
	if err != nil {
		return Batch{}, err
	}
	return Batch{Events: w.decode.Batch(b), CaughtUp: b.CaughtUp, Raw: b}, nil
}

// NextRaw is Next for those who decode the events themselves, or not at all, by
// package wire. Next does not learn the pods of the batch: a stream is read by the
// one or by the other.
func (w *Watch) NextRaw() (*agentpb.Batch, error) { return w.batches.Recv() }
