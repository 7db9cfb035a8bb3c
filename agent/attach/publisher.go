package attach

import (
	"context"
	"sync"
	"time"
)

// The publisher waits for a pause of the calls, but not for long. A kubelet makes calls in rows, and on a busy node
// no call of a row then waits for a processor that publishes another call. Nobody sees the delay: the screen takes as
// long for a frame or two.
const (
	pause  = 2 * time.Millisecond
	linger = 20 * time.Millisecond
)

// The queue of the publisher is bounded, in number and in bytes of messages.
const (
	maxPending      = 1 << 14
	maxPendingBytes = 64 << 20
)

// publisher publishes the kubelet's calls as events of the agent, in their order, on a goroutine of its own. Decoding
// a request takes longer than passing it on, and the kubelet waits only for the latter.
type publisher struct {
	mu     sync.Mutex
	wake   sync.Cond
	queue  []pending
	came   int // how much work was ever queued
	bytes  int
	closed bool
	hurry  chan struct{} // a caller waits for what is in the queue
	failed func(any)     // gets the value of a panic
	done   chan struct{}
}

// pending is work that publishes a call, and the size of the message that it keeps.
type pending struct {
	do    func()
	bytes int
}

func newPublisher() *publisher {
	p := &publisher{hurry: make(chan struct{}, 1), done: make(chan struct{})}
	p.wake.L = &p.mu
	return p
}

// run publishes until the publisher is closed and its queue is empty.
func (p *publisher) run() {
	defer close(p.done)
	for {
		batch := p.takeBatch()
		if batch == nil {
			return
		}
		for _, x := range batch {
			p.publish(x.do)
			p.mu.Lock()
			p.bytes -= x.bytes
			p.mu.Unlock()
		}
	}
}

// publish does one piece of work. If it panics, an event is lost; the kubelet's
// connections stay.
func (p *publisher) publish(do func()) {
	defer func() {
		if r := recover(); r != nil && p.failed != nil {
			p.failed(r)
		}
	}()
	do()
}

func (p *publisher) takeBatch() []pending {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.queue) == 0 && !p.closed {
		p.wake.Wait()
	}
	if !p.closed && len(p.queue) < maxPending/8 {
		p.mu.Unlock()
		p.linger()
		p.mu.Lock()
	}
	batch := p.queue
	p.queue = nil
	return batch
}

// linger returns after a pause without a new call, after the time linger, or when a caller waits.
func (p *publisher) linger() {
	late := time.After(linger)
	for last := p.count(); ; {
		select {
		case <-p.hurry:
			return
		case <-late:
			return
		case <-time.After(pause):
		}
		now := p.count()
		if now == last {
			return
		}
		last = now
	}
}

func (p *publisher) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.came
}

// hasten ends the linger, or the next one.
func (p *publisher) hasten() {
	select {
	case p.hurry <- struct{}{}:
	default:
	}
}

// queueBegin queues do; the publisher runs it after the next awake. It reports false,
// and queues nothing, if the queue is full.
func (p *publisher) queueBegin(do func(), bytes int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.queue) >= maxPending || p.bytes+bytes > maxPendingBytes {
		return false
	}
	p.put(do, bytes)
	return true
}

// queueEnd queues do, even if the queue is full: a published begin of a call needs its end, and there are no more ends
// than calls under way.
func (p *publisher) queueEnd(do func(), bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.put(do, bytes)
	}
	p.awake()
}

func (p *publisher) put(do func(), bytes int) {
	p.queue = append(p.queue, pending{do, bytes})
	p.came++
	p.bytes += bytes
}

// awake makes the publisher look at its queue.
func (p *publisher) awake() { p.wake.Signal() }

// await queues do as queueBegin does, and waits until it has run or ctx ends. It reports whether do has run.
func (p *publisher) await(ctx context.Context, do func(), bytes int) bool {
	done := make(chan struct{})
	if !p.queueBegin(func() { defer close(done); do() }, bytes) {
		return false
	}
	p.awake()
	p.hasten()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// close publishes what is queued and ends the publisher.
func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	p.awake()
	p.mu.Unlock()
	p.hasten()
	<-p.done
}
