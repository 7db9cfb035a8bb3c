package tracing

import (
	"context"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/export"
	"github.com/podstep/podstep/agent/export/collector"
	"github.com/podstep/podstep/probes"
)

// Spans sends the events of a trace to a collector, as spans.
type Spans struct {
	to    *collector.Collector
	queue *collector.Queue
	otlp  *export.OTLP
	feed  *export.Feed
	sent  time.Time
}

// sendEvery is how long a span that has ended is kept at most before it is sent.
const sendEvery = time.Second

// SendSpans begins to send spans to the collector at an endpoint.
func SendSpans(ctx context.Context, endpoint string, c *client.Client, getenv func(string) string) (*Spans, error) {
	catalogue, err := probes.Load()
	if err != nil {
		return nil, err
	}
	to, err := collector.Dial(ctx, endpoint, getenv)
	if err != nil {
		return nil, err
	}
	about := &export.About{Info: c.About(), Catalogue: catalogue}
	s := &Spans{to: to, queue: to.Queue(), sent: time.Now()}
	s.otlp = export.NewOTLP(about, s.queue.Add, s.queue.Close)
	// The agent has chosen the pods already.
	s.feed = export.NewFeed(&agentpb.PodSelector{}, about, s.otlp)
	return s, nil
}

func (s *Spans) add(events []probes.Event) error {
	for i := range events {
		if err := s.feed.Add(&events[i]); err != nil {
			return err
		}
	}
	return s.flush()
}

// flush sends the spans if they have been kept for long enough.
func (s *Spans) flush() error {
	if time.Since(s.sent) < sendEvery {
		return nil
	}
	s.sent = time.Now()
	return s.otlp.Flush()
}

// End sends the rest, including calls that go on, and prints the result. failed is why tracing
// ended, or nil.
func (s *Spans) End(failed error, printf func(string, ...any)) error {
	err := s.feed.Close()
	s.to.Close()
	printf("%s", s.to.Summary())
	switch {
	case failed != nil:
		return failed
	case err != nil:
		return err
	}
	return s.to.Err()
}
