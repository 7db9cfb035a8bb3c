package takeover

import (
	"errors"
	"net"
	"os"
	"time"
)

// linger is how long our socket still accepts when the path is not ours any more: a client that looked the path up
// before may be a moment away from connecting.
const linger = 100 * time.Millisecond

// door lets connections in.
type door struct {
	l      *net.UnixListener
	closed chan struct{}
}

// newDoor serves the connections that come to a listener. serve may dial up meanwhile.
func newDoor(l *net.UnixListener, up *upstream, serve func(*net.UnixConn, int)) *door {
	d := &door{l: l, closed: make(chan struct{})}
	go d.run(up, serve)
	return d
}

func (d *door) run(up *upstream, serve func(*net.UnixConn, int)) {
	defer close(d.closed)
	for {
		c, err := d.l.AcceptUnix()
		switch {
		case err == nil:
			up.hold()
			go func() {
				defer up.drop()
				serve(c, peerOf(c))
			}()
		case errors.Is(err, net.ErrClosed), errors.Is(err, os.ErrDeadlineExceeded):
			return
		default:
			// Out of files or memory: it may get better, and nobody else can serve.
			time.Sleep(queueFull)
		}
	}
}

// close stops listening after a while, in which connections are still let in.
func (d *door) close(after time.Duration) {
	_ = d.l.SetDeadline(time.Now().Add(after))
	<-d.closed
	_ = d.l.Close()
}
