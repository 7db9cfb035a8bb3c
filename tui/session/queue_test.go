package session

import (
	"context"
	"errors"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/screen"
)

func batchOf(n int) *agentpb.Batch { return &agentpb.Batch{Events: make([][]byte, n)} }

// drain takes all news there is, and counts.
func drain(t *testing.T, q *queue) (events, news int, last News) {
	t.Helper()
	for {
		q.mu.Lock()
		left := len(q.parts)
		q.mu.Unlock()
		if left == 0 {
			return events, news, last
		}
		n, err := q.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		events += eventsIn(n)
		news++
		last = n
	}
}

// TestQueueMerges: a flood of small batches becomes few news, none too large, and nothing is lost.
func TestQueueMerges(t *testing.T) {
	q := newQueue()
	const batches = 3000
	for range batches {
		if err := q.put(t.Context(), oneBatch(batchOf(10))); err != nil {
			t.Fatal(err)
		}
	}
	events, news, _ := drain(t, q)
	if events != 10*batches {
		t.Errorf("%d events of %d", events, 10*batches)
	}
	if most := 10*batches/newsEvents + 1; news > most {
		t.Errorf("%d news for one flood, want at most %d", news, most)
	}
}

// TestQueueKeepsOrder: the events of another agent come in news of their own.
func TestQueueKeepsOrder(t *testing.T) {
	q := newQueue()
	for _, n := range []News{
		oneBatch(batchOf(1)),
		{Link: &LinkNews{Link: screen.LinkReconnecting}},
		{Info: &agentpb.InfoResponse{Pid: 2}},
		{Batches: []*agentpb.Batch{batchOf(2)}, CaughtUp: true},
		{Poll: &Poll{}},
	} {
		if err := q.put(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	first, err := q.next(t.Context())
	if err != nil || eventsIn(first) != 1 || first.Info != nil || first.Link == nil {
		t.Errorf("first news %+v, %v", first, err)
	}
	second, err := q.next(t.Context())
	if err != nil || eventsIn(second) != 2 || second.Info.GetPid() != 2 || !second.CaughtUp || second.Poll == nil {
		t.Errorf("second news %+v, %v", second, err)
	}
}

// TestQueueIsBounded: put waits when there is too much, and gives up with its context.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	for range queueEvents / newsEvents {
		if err := q.put(t.Context(), oneBatch(batchOf(newsEvents))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.put(ctx, oneBatch(batchOf(1))); !errors.Is(err, context.Canceled) {
		t.Errorf("a full queue takes more: %v", err)
	}
	if err := q.put(ctx, News{Poll: &Poll{}}); err != nil {
		t.Errorf("a full queue takes no news without events: %v", err)
	}
	waits := make(chan error)
	go func() { waits <- q.put(t.Context(), oneBatch(batchOf(1))) }()
	if _, err := q.next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("after one was taken: %v", err)
	}
}
