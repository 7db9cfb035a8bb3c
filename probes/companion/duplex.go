package companion

import (
	"net"
	"sync"
	"time"
)

const (
	// BeatEvery is how often each side shows that it works, and SilentAfter after which
	// silence it is taken not to.
	BeatEvery   = 500 * time.Millisecond
	SilentAfter = 4 * time.Second
	// maxQueued bounds what waits for a side that does not read.
	maxQueued = 4096
)

// Duplex is a stream of messages whose senders never wait for the other side, and whose
// sides show each other that they work.
type Duplex[M any] struct {
	stream *Stream[M]
	beat   M
	gone   func(n int) M

	mu     sync.Mutex
	wake   sync.Cond
	queue  []M
	lost   int
	closed bool
	last   time.Time // when the other side was noticed
}

// NewDuplex makes one of a link. beat is a message without effect, and lost makes one of how
// many messages found no room.
func NewDuplex[M any](c net.Conn, beat M, lost func(n int) M) *Duplex[M] {
	l := &Duplex[M]{last: time.Now(), beat: beat, gone: lost}
	l.wake.L = &l.mu
	l.stream = NewStream(c, l.take, l.Fail)
	go l.beats()
	return l
}

// Send queues a message. If the queue is full it is lost, and counted.
func (l *Duplex[M]) Send(m M) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
	case len(l.queue) >= maxQueued:
		l.lost++
	default:
		l.queue = append(l.queue, m)
		l.wake.Signal()
	}
}

// take waits for messages. more is false if there are no others after these.
func (l *Duplex[M]) take() (batch []M, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.wake.Wait()
	}
	batch, l.queue = l.queue, nil
	if l.lost > 0 {
		batch = append(batch, l.gone(l.lost))
		l.lost = 0
	}
	return batch, !l.closed
}

// beats shows the other side that this one works.
func (l *Duplex[M]) beats() {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stream.Done():
			return
		case <-tick.C:
			l.Send(l.beat)
		}
	}
}

// Silent reports for how long nothing came from the other side.
func (l *Duplex[M]) Silent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.last)
}

// Fail closes the connection: nothing can be sent any more.
func (l *Duplex[M]) Fail() {
	l.shut(true)
	l.stream.Cut()
}

// Close sends what is queued, for as long as the other side takes it, and closes the link.
func (l *Duplex[M]) Close() {
	l.shut(false)
	l.stream.Close()
}

// shut has nothing more be queued, and drops what is if it cannot be sent.
func (l *Duplex[M]) shut(drop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if drop {
		l.queue = nil
	}
	l.wake.Signal()
}

// Receive reads one message; io.EOF is that the other side has ended.
func (l *Duplex[M]) Receive() (M, error) {
	m, err := l.stream.Receive()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	return m, err
}

// Pause has nothing be sent until resume is called, as if this side hung; for tests.
func (l *Duplex[M]) Pause() (resume func()) {
	l.mu.Lock()
	return l.mu.Unlock
}
