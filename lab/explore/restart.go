package explore

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Kubelet is the kubelet of the node.
type Kubelet interface {
	// PID returns its process. 0: it has none at the moment.
	PID() int
	// Kill ends it at once. It is started again by itself.
	Kill() error
}

// together restarts the kubelet once for all trials of a batch, as soon as each has come to where its life begins.
type together struct {
	trials sync.WaitGroup // those that have not come there
	killed chan struct{}  // closed when the kubelet is killed, and each waits for what it does then
	err    error          // why it could not be killed; set before killed is closed
}

// newTogether returns the restart of a batch of n trials.
func newTogether(n int) *together {
	b := &together{killed: make(chan struct{})}
	b.trials.Add(n)
	return b
}

// restart kills the kubelet when all trials have come, and returns when the next kubelet answers.
func (b *together) restart(ctx context.Context, n *Node) error {
	b.trials.Wait()
	old := n.pid.Swap(0)
	b.err = context.Cause(ctx)
	if b.err == nil {
		b.err = n.Kubelet.Kill()
	}
	close(b.killed)
	if b.err != nil {
		return b.err
	}
	is := func() bool { pid := int64(n.Kubelet.PID()); return pid != 0 && pid != old && answers(n.Agent) }
	if err := until(ctx, againWithin, is); err != nil {
		return fmt.Errorf("wait for the next kubelet: %w", err)
	}
	n.pid.Store(int64(n.Kubelet.PID()))
	return nil
}

// againWithin is how long the next kubelet may take.
const againWithin = 30 * time.Second

// answers reports whether somebody listens on a socket.
func answers(socket string) bool {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// wait waits until the kubelet is killed.
func (b *together) wait(ctx context.Context) error {
	select {
	case <-b.killed:
		return b.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryBatches tries faults of lives in which the kubelet is restarted. Those of a batch share a restart, and the next batch
// begins when all of them are over.
func (r *Run) tryBatches(ctx context.Context, plan []Fault, atOnce int) {
	for batch := range slices.Chunk(plan, atOnce) {
		if ctx.Err() != nil {
			return
		}
		with := newTogether(len(batch))
		var trials sync.WaitGroup
		for _, f := range batch {
			_ = until(ctx, pace, func() bool { return false })
			trials.Go(func() { r.tryOne(ctx, f, with, func() {}) })
		}
		if err := with.restart(ctx, r.node); err != nil && ctx.Err() == nil {
			r.printf("restart the kubelet: %v", err)
		}
		trials.Wait()
	}
}

// died reports whether the kubelet has ended by itself since it was last seen.
func (n *Node) died() bool {
	now := int64(n.Kubelet.PID())
	known := n.pid.Load()
	return known != 0 && now != known && n.pid.CompareAndSwap(known, now)
}
