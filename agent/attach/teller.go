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
	maxUntold      = 1 << 14
	maxUntoldBytes = 64 << 20
)

// teller tells the agent of calls, one after the other, on a goroutine of its
// own: to take a request apart for a person to read takes longer than to pass it
// on, and the kubelet waits for the latter only.
type teller struct {
	mu     sync.Mutex
	wake   sync.Cond
	queue  []told
	came   int // how many have come into it
	bytes  int
	closed bool
	hurry  chan struct{} // somebody waits for what is in the queue
	failed func(any)     // is told of a panic
	done   chan struct{}
}

// told is something to tell, and the bytes that it keeps.
type told struct {
	do    func()
	bytes int
}

func newTeller() *teller {
	t := &teller{hurry: make(chan struct{}, 1), done: make(chan struct{})}
	t.wake.L = &t.mu
	return t
}

// run tells until the teller is closed and nothing is left.
func (t *teller) run() {
	defer close(t.done)
	for {
		batch := t.take()
		if batch == nil {
			return
		}
		for _, x := range batch {
			t.tell(x.do)
			t.mu.Lock()
			t.bytes -= x.bytes
			t.mu.Unlock()
		}
	}
}

// tell tells one thing. A fault of ours costs an event, not the kubelet's
// connections.
func (t *teller) tell(do func()) {
	defer func() {
		if r := recover(); r != nil && t.failed != nil {
			t.failed(r)
		}
	}()
	do()
}

func (t *teller) take() []told {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) == 0 && !t.closed {
		t.wake.Wait()
	}
	if !t.closed && len(t.queue) < maxUntold/8 {
		t.mu.Unlock()
		t.linger()
		t.mu.Lock()
	}
	batch := t.queue
	t.queue = nil
	return batch
}

// linger returns when nothing came for a pause, at the latest when it has taken
// long enough or somebody waits.
func (t *teller) linger() {
	late := time.After(linger)
	for last := t.count(); ; {
		select {
		case <-t.hurry:
			return
		case <-late:
			return
		case <-time.After(pause):
		}
		now := t.count()
		if now == last {
			return
		}
		last = now
	}
}

func (t *teller) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.came
}

// hasten ends the linger, or the next one.
func (t *teller) hasten() {
	select {
	case t.hurry <- struct{}{}:
	default:
	}
}

// begin has do done some time after the next awake. It is false if there is no
// room for it.
func (t *teller) begin(do func(), bytes int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || len(t.queue) >= maxUntold || t.bytes+bytes > maxUntoldBytes {
		return false
	}
	t.put(do, bytes)
	return true
}

// end has do done later, whether there is room or not: what has begun is told to
// its end, and there are no more ends than calls under way.
func (t *teller) end(do func(), bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.put(do, bytes)
	}
	t.awake()
}

func (t *teller) put(do func(), bytes int) {
	t.queue = append(t.queue, told{do, bytes})
	t.came++
	t.bytes += bytes
}

// awake has the teller look at the queue.
func (t *teller) awake() { t.wake.Signal() }

// await is begin, and waits until it is done or ctx ends.
func (t *teller) await(ctx context.Context, do func(), bytes int) bool {
	done := make(chan struct{})
	if !t.begin(func() { defer close(done); do() }, bytes) {
		return false
	}
	t.awake()
	t.hasten()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// close tells what is left and ends the teller.
func (t *teller) close() {
	t.mu.Lock()
	t.closed = true
	t.awake()
	t.mu.Unlock()
	t.hasten()
	<-t.done
}
