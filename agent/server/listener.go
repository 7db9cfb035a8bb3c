package server

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// maxConnections bounds the clients at one time; more are turned away at once.
const maxConnections = 128

// limitListener bounds the connections, so that a client that opens thousands costs the kubelet neither its file
// descriptors nor its memory. When there are too many, the oldest connection that has not received a byte makes room.
// If all have, the new one is closed.
type limitListener struct {
	net.Listener
	mu     sync.Mutex
	silent []*limitedConn // oldest first
	open   int
}

func newLimitListener(l net.Listener) *limitListener { return &limitListener{Listener: l} }

func (l *limitListener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

func (l *limitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if own := l.admit(c); own != nil {
			return own, nil
		}
		_ = c.Close()
	}
}

func (l *limitListener) admit(c net.Conn) *limitedConn {
	own := &limitedConn{Conn: c, of: l}
	l.mu.Lock()
	var oldest *limitedConn
	if l.open >= maxConnections {
		if len(l.silent) == 0 {
			l.mu.Unlock()
			return nil
		}
		oldest = l.silent[0]
	}
	l.open++
	l.silent = append(l.silent, own)
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	return own
}

// speaks removes a connection from the silent ones. The caller holds mu.
func (l *limitListener) speaks(c *limitedConn) {
	if i := slices.Index(l.silent, c); i >= 0 {
		l.silent = slices.Delete(l.silent, i, i+1)
	}
}

// limitedConn is a connection that its listener counts.
type limitedConn struct {
	net.Conn
	of       *limitListener
	received atomic.Bool
	once     sync.Once
}

func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.received.CompareAndSwap(false, true) {
		c.of.mu.Lock()
		c.of.speaks(c)
		c.of.mu.Unlock()
	}
	return n, err
}

func (c *limitedConn) Close() error {
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.open--
		c.of.speaks(c)
	})
	return c.Conn.Close()
}
