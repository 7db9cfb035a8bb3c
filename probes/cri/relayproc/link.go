package relayproc

import (
	"net"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/companion"
)

// link is a stream of messages between podstep and the relay process. Messages wait in a queue: the sender never
// waits for the other side.
type link struct {
	stream *companion.Stream[message]

	mu     sync.Mutex
	wake   sync.Cond
	queue  []message
	bytes  int // size of the queue
	lost   int // calls for which there was no room
	now    bool
	closed bool
}

// The queue is bounded: a podstep that hangs does not read.
const (
	maxQueued = 1 << 14
	maxBytes  = 32 << 20
)

// The writer waits for a pause of the calls, but not for long. A kubelet makes calls in rows, and no call of a row
// is to wait for a processor on which another one is reported.
const (
	pause  = 2 * time.Millisecond
	linger = 20 * time.Millisecond
)

func newLink(c net.Conn) *link {
	l := &link{}
	l.wake.L = &l.mu
	l.stream = companion.NewStream(c, l.take, l.fail)
	return l
}

// send queues a message that goes out at once, with all before it.
func (l *link) send(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(m, 0)
	l.now = true
	l.wake.Signal()
}

// report queues a message about a call, which goes out after awake is called. If the queue is full it returns
// false, and counts a lost call.
func (l *link) report(m message, size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) >= maxQueued || l.bytes+size > maxBytes {
		l.lost++
		return false
	}
	l.put(m, size)
	return true
}

// end queues the end of a call that was reported. If the queue is full it queues the end without the answer: there
// are no more ends than calls under way.
func (l *link) end(m message) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes+len(m.End.Answer) > maxBytes {
		m.End.Answer, m.End.None = nil, true
	}
	l.put(m, len(m.End.Answer))
	l.wake.Signal()
}

// crowded reports whether the other side reads more slowly than this side sends. Then messages that can wait are
// not sent.
func (l *link) crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > maxQueued/2
}

func (l *link) put(m message, size int) {
	if l.closed {
		return
	}
	l.queue = append(l.queue, m)
	l.bytes += size
}

// awake makes the writer send what was reported, after a pause.
func (l *link) awake() { l.wake.Signal() }

// hasten makes the writer send what was reported at once.
func (l *link) hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = true
	l.wake.Signal()
}

// countLost counts a call that could not be reported.
func (l *link) countLost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
}

// take waits for messages. more is false if there are none after these.
func (l *link) take() (batch []message, more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.closed {
		l.wake.Wait()
	}
	if !l.now && !l.closed {
		l.awaitPause()
	}
	batch, l.queue, l.bytes, l.now = l.queue, nil, 0, false
	if l.lost > 0 {
		batch = append(batch, message{Lost: l.lost})
		l.lost = 0
	}
	return batch, !l.closed
}

// awaitPause returns after a pause without a new message, when the linger is over, or when a message has to go out
// at once. The caller holds mu, which is released meanwhile.
func (l *link) awaitPause() {
	began := time.Now()
	for last := len(l.queue); ; last = len(l.queue) {
		l.mu.Unlock()
		time.Sleep(pause)
		l.mu.Lock()
		if l.now || l.closed || len(l.queue) == last || time.Since(began) > linger {
			return
		}
	}
}

// fail closes the connection: nothing can be sent any more.
func (l *link) fail() {
	l.shut(true)
	l.stream.Cut()
}

// close sends what is queued, for as long as the other side takes it, and closes the link.
func (l *link) close() {
	l.shut(false)
	l.stream.Close()
}

// shut ends the queueing. If drop is set, it drops the queue, which cannot be sent.
func (l *link) shut(drop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if drop {
		l.queue = nil
	}
	l.wake.Signal()
}

// receive reads one message. It returns io.EOF when the other side has ended.
func (l *link) receive() (message, error) { return l.stream.Receive() }
