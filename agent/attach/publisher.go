package attach

import (
	"context"
	"sync"
	"time"
)

// What there is to tell waits for a pause of the calls, but not for long: a
// kubelet makes them in rows, and on a busy node none of a row then waits for a
// processor that the telling of another keeps. Nobody sees it: it is the time
// that the screen takes for a frame or two.
const (
	pause  = 2 * time.Millisecond
	linger = 20 * time.Millisecond
)

// What waits to be told is bounded, in number and in bytes of messages.
const (
	maxPending      = 1 << 14
	maxPendingBytes = 64 << 20
)

// publisher tells the agent of calls, one after the other, on a goroutine of its
// own: to take a request apart for a person to read takes longer than to pass it
// on, and the kubelet waits for the latter only.
type publisher struct {
	mu     sync.Mutex
	wake   sync.Cond
	queue  []pending
	came   int // how many have come into it
	bytes  int
	closed bool
	hurry  chan struct{} // somebody waits for what is in the queue
	failed func(any)     // is told of a panic
	done   chan struct{}
}

// pending is something to tell, and the bytes that it keeps.
type pending struct {
	do    func()
	bytes int
}

func newPublisher() *publisher {
	p := &publisher{hurry: make(chan struct{}, 1), done: make(chan struct{})}
	p.wake.L = &p.mu
	return p
}

// run tells until the teller is closed and nothing is left.
func (p *publisher) run() {
	defer close(p.done)
	for {
		batch := p.take()
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

// publish tells one thing. A fault of ours costs an event, not the kubelet's
// connections.
func (p *publisher) publish(do func()) {
	defer func() {
		if r := recover(); r != nil && p.failed != nil {
			p.failed(r)
		}
	}()
	do()
}

func (p *publisher) take() []pending {
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

// linger returns when nothing came for a pause, at the latest when it has taken
// long enough or somebody waits.
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

// begin has do done some time after the next awake. It is false if there is no
// room for it.
func (p *publisher) begin(do func(), bytes int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.queue) >= maxPending || p.bytes+bytes > maxPendingBytes {
		return false
	}
	p.put(do, bytes)
	return true
}

// end has do done later, whether there is room or not: what has begun is told to
// its end, and there are no more ends than calls under way.
func (p *publisher) end(do func(), bytes int) {
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

// awake has the teller look at the queue.
func (p *publisher) awake() { p.wake.Signal() }

// await is begin, and waits until it is done or ctx ends.
func (p *publisher) await(ctx context.Context, do func(), bytes int) bool {
	done := make(chan struct{})
	if !p.begin(func() { defer close(done); do() }, bytes) {
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

// close tells what is left and ends the teller.
func (p *publisher) close() {
	p.mu.Lock()
	p.closed = true
	p.awake()
	p.mu.Unlock()
	p.hasten()
	<-p.done
}
