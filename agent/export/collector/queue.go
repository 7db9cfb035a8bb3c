package collector

import (
	"context"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// Queue sends batches in a goroutine of its own, so that their maker does not wait.
type Queue struct {
	c       *Collector
	batches chan []*tracepb.ResourceSpans
	done    chan struct{}
	stop    context.CancelFunc
	dropped int64
}

// How much a queue holds at most, and how long its end may take.
const (
	mostBatches = 64
	endTime     = 10 * time.Second
)

// Queue starts a queue. Until the queue is closed, only it uses the collector.
func (c *Collector) Queue() *Queue {
	ctx, stop := context.WithCancel(context.Background())
	q := &Queue{c: c, batches: make(chan []*tracepb.ResourceSpans, mostBatches), done: make(chan struct{}), stop: stop}
	go func() {
		defer close(q.done)
		for b := range q.batches {
			// deliver has counted the lost spans, and the next batch has its own chance.
			_ = c.deliver(ctx, b)
		}
	}()
	return q
}

// Add takes a batch, or drops it if there is no room.
func (q *Queue) Add(batch []*tracepb.ResourceSpans) error {
	select {
	case q.batches <- batch:
	default:
		q.dropped += int64(count(batch))
	}
	return nil
}

// Close sends what is left, as far as there is time for it.
func (q *Queue) Close() error {
	close(q.batches)
	timer := time.AfterFunc(endTime, q.stop)
	<-q.done
	timer.Stop()
	q.stop()
	q.c.lost += q.dropped
	if q.dropped > 0 && q.c.why == nil {
		q.c.why = errFull
	}
	return nil
}
