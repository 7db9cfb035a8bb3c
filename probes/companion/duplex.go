package companion

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// BeatEvery is how often the side that has started a companion asks it whether it works. A side that is silent for
	// SilentAfter is taken not to.
	BeatEvery   = 500 * time.Millisecond
	SilentAfter = 4 * time.Second
	// A side that does not read gets no more than so many messages, and bytes of Post. What is sent has room when what
	// is posted has none any more.
	maxPosted, maxQueued = 1 << 14, 1 << 15
	maxBytes             = 32 << 20
	// closeWithin bounds how long Close waits for a side that does not read.
	closeWithin = time.Second
	// linkBuffer is the size of a link's buffers, in bytes.
	linkBuffer = 64 << 10
)

// What was posted waits for a pause, but not for long. A kubelet makes calls in rows, and no call of a row is to wait
// for a processor on which another one is reported.
const (
	pause  = 2 * time.Millisecond
	linger = 20 * time.Millisecond
)

// Duplex is a stream of messages over a link, both ways. Its senders never wait for the other side. The client's side
// sends beats, and the companion's side answers them as it receives: so both see whether the goroutine works that
// receives the other side's messages.
type Duplex[M any] struct {
	c    net.Conn
	dec  *gob.Decoder
	sent chan struct{} // closed when nothing is sent any more
	asks bool          // this side sends the beats
	// handling is what this side does with what it has received, until it receives again.
	handling Work

	// OnLost, if not nil, is called by Receive with how many messages of the other side found no room.
	OnLost func(n int)

	mu    sync.Mutex
	wake  sync.Cond
	queue []frame[M]
	// bytes of what was posted and is not written yet, and of that those that are being written.
	bytes, writing int
	now            bool
	lost           int
	closed         bool
	last           time.Time // when a beat last came, or this side began to wait after it had been busy for long
	beats          uint64    // that came
}

// frame is what goes over a link. One of its parts is set.
type frame[M any] struct {
	Message *M
	Beat    bool
	Lost    int // so many messages found no room
}

// NewDuplex makes the companion's side of a link. NewClient makes it the other side.
func NewDuplex[M any](c net.Conn) *Duplex[M] {
	l := &Duplex[M]{c: c, dec: gob.NewDecoder(bufio.NewReaderSize(c, linkBuffer)), sent: make(chan struct{}), last: time.Now()}
	l.wake.L = &l.mu
	go l.write()
	return l
}

// Send queues a message, which goes out at once with all before it. If the other side does not read, the message is
// lost, and counted.
func (l *Duplex[M]) Send(m M) { l.put(frame[M]{Message: &m}, true) }

func (l *Duplex[M]) put(f frame[M], now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return
	case len(l.queue) >= maxQueued:
		l.lost++
		return
	}
	l.queue = append(l.queue, f)
	l.now = l.now || now
	l.wake.Signal()
}

// Post queues a message of a size, which goes out after Wake, Hasten or Send is called. If there is no room it returns
// false, and counts a lost message.
func (l *Duplex[M]) Post(m M, size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) >= maxPosted || l.bytes+size > maxBytes {
		l.lost++
		return false
	}
	l.queue = append(l.queue, frame[M]{Message: &m})
	l.bytes += size
	return true
}

// Follow queues a message that belongs to one which was posted, and wakes the writer. shorter makes it small; it is
// called if there is no room for the size.
func (l *Duplex[M]) Follow(m M, size int, shorter func(*M)) {
	l.mu.Lock()
	if l.bytes+size > maxBytes {
		shorter(&m)
		size = 0
	}
	l.bytes += size
	l.mu.Unlock()
	l.put(frame[M]{Message: &m}, false)
}

// Wake makes the writer send what was posted, after a pause.
func (l *Duplex[M]) Wake() { l.wake.Signal() }

// Hasten makes the writer send what was posted at once.
func (l *Duplex[M]) Hasten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = true
	l.wake.Signal()
}

// Lose counts a message that could not be made.
func (l *Duplex[M]) Lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
}

// Crowded reports whether the other side reads more slowly than this side sends. Then messages that can wait are not
// sent.
func (l *Duplex[M]) Crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.queue) > maxPosted/2
}

func (l *Duplex[M]) write() {
	defer close(l.sent)
	out := bufio.NewWriterSize(l.c, linkBuffer)
	enc := gob.NewEncoder(out)
	for more := true; more; {
		var batch []frame[M]
		batch, more = l.nextBatch()
		Mishap("send")
		for i := range batch {
			if enc.Encode(&batch[i]) != nil {
				l.Fail()
				return
			}
		}
		if out.Flush() != nil {
			l.Fail()
			return
		}
	}
}

// nextBatch waits for queued messages, and returns them. more is false if none will follow.
func (l *Duplex[M]) nextBatch() (batch []frame[M], more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= l.writing // they are written
	l.writing = 0
	for len(l.queue) == 0 && !l.closed {
		l.wake.Wait()
	}
	if !l.now && !l.closed {
		l.awaitPause()
	}
	batch, l.queue, l.writing, l.now = l.queue, nil, l.bytes, false
	if l.lost > 0 {
		batch = append(batch, frame[M]{Lost: l.lost})
		l.lost = 0
	}
	return batch, !l.closed
}

// awaitPause returns after a pause without a new message, when the linger is over, or when a message has to go out at
// once. The caller holds mu, which is released meanwhile.
func (l *Duplex[M]) awaitPause() {
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

// Attend answers the other side's beats while this process ends what it does, and drops messages that come. It returns
// when the link has ended.
func (l *Duplex[M]) Attend() {
	for {
		if _, err := l.Receive(); err != nil {
			return
		}
	}
}

// Silent returns for how long this side has waited for the other one. While it handles a message it does not wait.
func (l *Duplex[M]) Silent() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.handling.Since() != 0 {
		return 0
	}
	return time.Since(l.last)
}

// Handles is when this side began to handle the message that it handles, as Work has it; 0: it waits for one.
func (l *Duplex[M]) Handles() uint64 { return l.handling.Since() }

// answers returns how many beats have come.
func (l *Duplex[M]) answers() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beats
}

// Heed is for a companion: it closes the link when the other side is silent. Once the link is closed, by whomever, this
// process has so long to undo what it has done, and to end; then it is killed. It is also killed if it does not get done
// with a message.
func (l *Duplex[M]) Heed(within time.Duration) {
	EndIfStuck("a message", SilentAfter, l.Handles)
	go func() {
		for !l.isClosed() && l.Silent() <= SilentAfter {
			time.Sleep(BeatEvery / 2)
		}
		l.Fail()
		time.Sleep(within)
		_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	}()
}

func (l *Duplex[M]) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Fail closes the link: nothing can be sent any more.
func (l *Duplex[M]) Fail() {
	l.shut(true)
	_ = l.c.Close()
}

// Close sends what is queued, for as long as the other side takes it, and closes the link.
func (l *Duplex[M]) Close() {
	l.shut(false)
	_ = l.c.SetWriteDeadline(time.Now().Add(closeWithin))
	<-l.sent
	_ = l.c.Close()
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

// Receive reads one message. It returns io.EOF when the link has ended, by whichever side.
func (l *Duplex[M]) Receive() (M, error) {
	var none M
	for {
		l.await()
		f, err := l.read()
		if err != nil {
			return none, err
		}
		l.handling.Begin()
		if f.Beat {
			l.beaten()
		}
		if !l.asks {
			Mishap("receive")
		}
		switch {
		case f.Beat && !l.asks:
			l.put(f, true)
		case f.Lost > 0 && l.OnLost != nil:
			l.OnLost(f.Lost)
		case f.Message != nil:
			return *f.Message, nil
		}
	}
}

// await notes that this side waits for the other one.
func (l *Duplex[M]) await() {
	since := l.handling.Since()
	l.handling.End()
	if since != 0 && Lasts(since) > BeatEvery {
		l.mu.Lock()
		l.last = time.Now() // the other side may have sent what is there only now
		l.mu.Unlock()
	}
}

// beaten notes that the other side works. Other messages show no such thing: any goroutine may have sent them.
func (l *Duplex[M]) beaten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	l.beats++
}

func (l *Duplex[M]) read() (f frame[M], err error) {
	defer func() {
		// gob does not promise that no input makes it panic, and a kubelet must not depend on that.
		if r := recover(); r != nil {
			err = fmt.Errorf("read message: %v", r)
		}
	}()
	err = l.dec.Decode(&f)
	switch {
	case err == nil || err == io.EOF:
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, unix.ECONNRESET), errors.Is(err, net.ErrClosed):
		err = io.EOF // the other side ended before it had read or written all, or this side has closed the link
	default:
		err = fmt.Errorf("read message: %w", err)
	}
	return f, err
}

// Pause holds back everything that this side would send until resume is called, as if it hung; for tests.
func (l *Duplex[M]) Pause() (resume func()) {
	l.mu.Lock()
	return l.mu.Unlock
}
