package session

import (
	"context"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

const (
	// frameTime is the least time between two News. Nobody sees more frames than that.
	frameTime = 16 * time.Millisecond
	// newsEvents bounds the events of one News, so that keys need not wait for a flood of events.
	newsEvents = 8192
	// queueEvents bounds the events that wait. A reader that waits for room makes the agent drop events, which it
	// counts; the kubelet never waits.
	queueEvents = 1 << 16
)

// queue takes news from the goroutines of a session. It gives them out in order, merged, at the pace of frames.
type queue struct {
	mu     sync.Mutex
	parts  []News
	events int
	// some has an item while there is news, and room while there is room for more.
	some, room chan struct{}
	last       time.Time
	given      News // the News that was given out last, without its content
}

func newQueue() *queue {
	return &queue{some: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put adds one part of news. It waits while too many events are in the queue.
func (q *queue) put(ctx context.Context, n News) error {
	size := 0
	for _, b := range n.Batches {
		size += len(b.Events)
	}
	for {
		q.mu.Lock()
		if size == 0 || q.events < queueEvents {
			q.add(n, size)
			q.mu.Unlock()
			wake(q.some)
			return nil
		}
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add merges n into the last part, if that keeps the order.
func (q *queue) add(n News, size int) {
	q.events += size
	if len(q.parts) == 0 || n.Info != nil || n.Fault != nil || n.isOfAnother(&q.parts[len(q.parts)-1]) || eventsIn(q.parts[len(q.parts)-1]) >= newsEvents {
		q.parts = append(q.parts, n)
		return
	}
	last := &q.parts[len(q.parts)-1]
	last.Batches = append(last.Batches, n.Batches...)
	last.CaughtUp = last.CaughtUp || n.CaughtUp
	if n.order != nil {
		last.order = n.order
	}
	last.seq, last.marks, last.granted = max(last.seq, n.seq), append(last.marks, n.marks...), last.granted || n.granted
	if n.Link != nil {
		last.Link = n.Link
	}
	if n.Poll != nil {
		last.Poll = n.Poll
	}
	if n.Renewed != nil {
		last.Renewed = n.Renewed
	}
}

// isOfAnother reports whether n is from another connection than the news before.
func (n *News) isOfAnother(before *News) bool {
	return n.order != nil && before.order != nil && n.order != before.order
}

func eventsIn(n News) (count int) {
	for _, b := range n.Batches {
		count += len(b.Events)
	}
	return count
}

// next waits for news, and for the time of the next frame.
func (q *queue) next(ctx context.Context) (News, error) {
	q.wasRead()
	for {
		if n, ok, wait := q.take(time.Now()); ok {
			return n, nil
		} else if wait > 0 {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
				continue
			case <-ctx.Done():
				t.Stop()
				return News{}, ctx.Err()
			}
		}
		select {
		case <-q.some:
		case <-ctx.Done():
			return News{}, ctx.Err()
		}
	}
}

// wasRead notes that the reader has dealt with the News that was given out last.
func (q *queue) wasRead() {
	q.mu.Lock()
	last := q.given
	q.given = News{}
	q.mu.Unlock()
	if last.order != nil {
		last.order.wasRead(last.seq)
	}
}

func (q *queue) take(now time.Time) (n News, ok bool, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.parts) == 0 {
		return News{}, false, 0
	}
	// A full batch is delivered at once: the screen is behind already.
	if wait = frameTime - now.Sub(q.last); wait > 0 && eventsIn(q.parts[0]) < newsEvents {
		return News{}, false, wait
	}
	n = q.parts[0]
	q.parts[0] = News{}
	q.parts = q.parts[1:]
	q.events -= eventsIn(n)
	q.last = now
	if n.order != nil {
		n.order.deliver(&n, now)
	}
	q.given = News{order: n.order, seq: n.seq}
	wake(q.room)
	return n, true, 0
}

// oneBatch returns the news of one batch.
func oneBatch(b *agentpb.Batch) News {
	return News{Batches: []*agentpb.Batch{b}, CaughtUp: b.CaughtUp}
}
