package fleet

import (
	"context"
	"slices"
	"sync"
	"time"
)

// frameTime is the least time between two answers of Next. A list of thousands of pods is not drawn more often.
const frameTime = 100 * time.Millisecond

// Fleet follows the agents of nodes, each on goroutines of its own.
type Fleet struct {
	stop    context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	all     []Status
	changed chan struct{} // has an item while there is something that Next has not returned
	last    time.Time     // when Next returned
}

// Follow begins to follow nodes, until Close.
func Follow(nodes []Node) *Fleet { return follow(nodes, usual) }

func follow(nodes []Node, t timing) *Fleet {
	ctx, stop := context.WithCancel(context.Background())
	f := &Fleet{stop: stop, changed: make(chan struct{}, 1)}
	for i := range nodes {
		f.all = append(f.all, Status{Index: i, Name: nodes[i].Called(), Place: nodes[i].Place.String(), Since: time.Now()})
	}
	wake(f.changed)
	for i := range nodes {
		one := &follower{fleet: f, node: nodes[i], index: i, timing: t}
		f.running.Go(func() { one.run(ctx) })
	}
	return f
}

// Next waits until something has changed, and for the time of the next frame. It returns what is known of all nodes, in
// their order. The first call returns at once.
func (f *Fleet) Next(ctx context.Context) ([]Status, error) {
	if err := pause(ctx, frameTime-time.Since(f.last)); err != nil {
		return nil, err
	}
	select {
	case <-f.changed:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.last = time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all), nil
}

// Close ends all connections.
func (f *Fleet) Close() {
	f.stop()
	f.running.Wait()
}

// update changes what is known of a node.
func (f *Fleet) update(index int, change func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &f.all[index]
	before := s.State
	change(s)
	if s.State != before {
		s.Since = time.Now()
	}
	wake(f.changed)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
