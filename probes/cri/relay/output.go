package relay

import (
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// output is what goes to one side. The pump writes what passes. Everything else, and there is little of it, is left
// in side. A goroutine of the output's own writes that between two frames of the pump. So a caller that leaves
// something never waits for a peer that does not read.
type output struct {
	conn  net.Conn
	wake  chan struct{}
	wrote func() // called after what more returned is written

	// writing is held from before a frame is looked at until it is written, so
	// that what follows from a frame is never written before it.
	writing sync.Mutex

	// Guarded by the connection's mutex.
	side   []byte // whole frames
	credit int64  // window to grant on the connection
}

func newOutput(conn net.Conn) *output {
	return &output{conn: conn, wake: make(chan struct{}, 1), wrote: func() {}}
}

// poke makes the output's goroutine look for something to write.
func (o *output) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *output) pending() bool { return len(o.side) > 0 || o.credit > 0 }

// take empties side. The caller holds the connection's mutex.
func (o *output) take() []byte {
	b := o.side
	o.side = nil
	if o.credit > 0 {
		b = appendWindow(b, 0, o.credit)
		o.credit = 0
	}
	return b
}

// run writes, at each poke, what more returns, until there is nothing. When more returns done, run half-closes the
// side.
func (o *output) run(ended <-chan struct{}, more func() (b []byte, done bool)) {
	for {
		select {
		case <-ended:
			return
		case <-o.wake:
		}
		done, err := o.flush(more)
		if done {
			closeWrite(o.conn)
		}
		if done || err != nil {
			return // the pump will notice by itself that a side went away
		}
	}
}

func (o *output) flush(more func() ([]byte, bool)) (bool, error) {
	o.writing.Lock()
	defer o.writing.Unlock()
	for {
		b, done := more()
		if len(b) == 0 {
			return done, nil
		}
		if _, err := o.conn.Write(b); err != nil {
			return false, err
		}
		o.wrote()
	}
}

// closeWrite ends the sending side of a connection, or closes one that has no such side.
func closeWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		w.CloseWrite() //nolint:errcheck // the peer may be gone
		return
	}
	c.Close()
}

// closed reports whether a peer is known to have closed its whole connection, and not just its sending side.
func closed(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true // so have we
	}
	fds := []unix.PollFd{{}}
	err = raw.Control(func(fd uintptr) {
		fds[0].Fd = int32(fd)
		_, _ = unix.Poll(fds, 0) // if it fails, nothing is known
	})
	return err != nil || fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// moreToClient returns what the client's output writes in addition to what passes.
func (c *Conn) moreToClient() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A server's first frame is its SETTINGS.
	if c.raw || !c.speaks {
		return nil, c.downDone
	}
	b := c.toClient.take()
	if c.mustAskClient() {
		b, c.away = appendGoAway(b), true
	}
	return b, len(b) == 0 && c.downDone
}

// moreToRuntime returns what the runtime's output writes in addition to what passes: above all, released messages
// as far as the window allows.
func (c *Conn) moreToRuntime() ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.toRuntime.take()
	b = c.takeReleased(b)
	return b, len(b) == 0 && c.upDone && len(c.released) == 0
}

// maxRelease bounds the bytes of released messages that are written at once.
const maxRelease = 256 << 10

// takeReleased appends frames of released messages as far as the window allows.
func (c *Conn) takeReleased(b []byte) []byte {
	a := &c.account
	a.starved = false
	left := c.released[:0]
	for _, k := range c.released {
		for len(b) < maxRelease && k.hasUnsent() {
			n := min(int64(len(k.kept)), k.window, a.window, minMaxFrame)
			if n <= 0 && len(k.kept) > 0 {
				break
			}
			b = k.appendData(b, max(n, 0))
			a.window -= max(n, 0)
			a.kept -= max(n, 0)
		}
		if k.hasUnsent() {
			left = append(left, k)
			a.starved = a.starved || a.window <= 0 || len(b) >= maxRelease
			continue
		}
		k.queued, k.kept = false, nil
		k.watch.sent = time.Now() // nearly; the answer may come before it is known better
		c.toBeSent = append(c.toBeSent, k)
		c.unreserve(k)
	}
	clear(c.released[len(left):])
	c.released = left
	return b
}
