package companion

import (
	"net"
	"sync"
	"time"
)

const (
	// BeatEvery is how often each side shows that it works. A side that is silent for SilentAfter is taken not to.
	BeatEvery   = 500 * time.Millisecond
	SilentAfter = 4 * time.Second
	// maxQueued bounds the messages that wait for a side that does not read.
	maxQueued = 4096
)

// Duplex is a stream of messages. Its senders never wait for the other side, and the two sides show each other that
// they work.
type Duplex[M any] struct {
	stream *Stream[M]
	beat   M
	gone   func(n int) M

	mu     sync.Mutex
	wake   sync.Cond
	queue  []M
	lost   int
	closed bool
	last   time.Time // when Receive last returned
}

// NewDuplex makes a stream of a link. beat is a message without effect. lost makes the message that n others found no
// room.
func NewDuplex[M any](c net.Conn, beat M, lost func(n int) M) *Duplex[M] {
	l := &Duplex[M]{last: time.Now(), beat: beat, gone: lost}
	l.wake.L = &l.mu
	l.stream = NewStream(c, l.nextBatch, l.Fail)
	go l.beats()
	return l
}

// Send queues a message. If the queue is full, the message is lost, and counted.
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

// nextBatch waits for queued messages, and returns them. more is false if none will follow.
func (l *Duplex[M]) nextBatch() (batch []M, more bool) {
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

// beats sends beats, by which the other side sees that this one works.
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

// Silent returns how long ago the other side last sent something.
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

// shut lets no more messages be queued. With drop, it also drops those that are queued.
func (l *Duplex[M]) shut(drop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if drop {
		l.queue = nil
	}
	l.wake.Signal()
}

// Receive reads one message. It returns io.EOF when the other side has ended.
func (l *Duplex[M]) Receive() (M, error) {
	m, err := l.stream.Receive()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	return m, err
}

// Pause holds back everything that this side would send until resume is called, as if it hung; for tests.
func (l *Duplex[M]) Pause() (resume func()) {
	l.mu.Lock()
	return l.mu.Unlock
}
