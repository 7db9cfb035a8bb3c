package attach

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// dialRuntime bounds the wait for a connection to the runtime. A kubelet dials
// again when we hang up.
const dialRuntime = 5 * time.Second

// socket is one of the runtime's sockets while its path is ours.
type socket struct {
	path    string
	kubelet func(pid int) bool
	see     relay.Watcher // of the kubelet's connections
	ready   chan struct{} // closed when taken is set
	taken   *takeover.Takeover

	mu      sync.Mutex
	opening int // connections that the runtime is dialled for
	conns   map[*relay.Conn]struct{}
	wg      sync.WaitGroup
	over    bool // the path is given back
	closed  bool // nothing is carried any more
}

// take takes the path over.
func (s *socket) take(ctx context.Context, o takeover.Options) error {
	s.ready, s.conns = make(chan struct{}), map[*relay.Conn]struct{}{}
	o.Path, o.Serve, o.Kubelet = s.path, s.serve, s.kubelet
	t, err := takeover.Take(ctx, o)
	s.taken = t
	close(s.ready)
	return err
}

// serve relays one connection. Calls are looked at only on the kubelet's.
func (s *socket) serve(c *net.UnixConn, pid int) {
	if <-s.ready; s.taken == nil {
		c.Close()
		return
	}
	conn := s.open(c, pid)
	if conn == nil {
		c.Close()
		return
	}
	_ = conn.Run()
	s.remove(conn)
}

// open makes a connection to the runtime for one of a client's; nil if that
// cannot be done.
func (s *socket) open(c *net.UnixConn, pid int) *relay.Conn {
	s.mu.Lock()
	s.opening++
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), dialRuntime)
	defer cancel()
	runtime, err := s.taken.Dial(ctx)
	var conn *relay.Conn
	if err == nil {
		var see relay.Watcher = nobody{}
		if s.kubelet(pid) {
			see = s.see
		}
		conn = relay.New(c, runtime, see)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	if conn == nil {
		return nil
	}
	if s.closed {
		_ = conn.Close()
		return nil
	}
	s.add(conn)
	return conn
}

// dial connects to the runtime itself.
func (s *socket) dial(ctx context.Context) (net.Conn, error) {
	c, err := s.taken.Dial(ctx)
	if err != nil {
		return nil, err // and no connection that is not nil but holds one
	}
	return c, nil
}

// add takes a connection in; one that comes late is to go at once. The caller
// holds mu.
func (s *socket) add(c *relay.Conn) {
	s.conns[c] = struct{}{}
	s.wg.Add(1)
	if s.over {
		c.Drain()
	}
}

func (s *socket) remove(c *relay.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.wg.Done()
}

// give gives the path back and asks every client to go where it then leads.
func (s *socket) give(ctx context.Context) error {
	err := s.taken.Give(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for c := range s.conns {
		c.Drain()
	}
	return err
}

// endless are calls that end only with their connection, and are made again on
// the next: nobody waits for those.
var endless = map[string]bool{
	"/runtime.v1.RuntimeService/GetContainerEvents":       true,
	"/containerd.services.events.v1.Events/Subscribe":     true,
	"/containerd.services.events.ttrpc.v1.Events/Forward": true,
}

// left is how many connections there are still.
func (s *socket) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opening + len(s.conns)
}

// calls are those under way that are waited for.
func (s *socket) calls() (out []relay.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		for _, k := range c.Calls() {
			if !endless[k.Method] {
				out = append(out, k)
			}
		}
	}
	return out
}

// hangUp ends what is left.
func (s *socket) hangUp() {
	s.mu.Lock()
	s.closed = true
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// nobody looks at no calls. A relay for nobody still knows where frames end, and
// can ask its client to go.
type nobody struct{}

func (nobody) Wants(string) bool                                       { return false }
func (nobody) Request(*relay.Call, []byte) func(context.Context) error { return nil }
func (nobody) Passed()                                                 {}
func (nobody) End(*relay.Call, []byte, *status.Status, time.Time)      {}
