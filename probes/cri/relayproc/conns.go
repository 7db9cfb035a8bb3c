package relayproc

import (
	"context"
	"fmt"
	"net"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/relay"
)

// dialRuntime bounds the wait for a connection to the runtime. A client dials again when
// the relay process hangs up.
const dialRuntime = 5 * time.Second

// conns are the connections that are relayed.
type conns struct {
	dial    func(context.Context) (*net.UnixConn, error)
	kubelet func(pid int) bool
	see     relay.Watcher // of the kubelet's connections
	meter   func(relay.Times)
	unseen  func(error) // of a connection of the kubelet

	mu       sync.Mutex
	opening  int                  // connections that the runtime is dialled for
	all      map[*relay.Conn]bool // true: it is the kubelet's
	wg       sync.WaitGroup
	over     bool   // the path is given back
	answered uint64 // calls of the kubelet on connections that have ended
	last     int    // the kubelet that came last; 0: none has
	refused  error  // why the runtime could not be dialled the last time; nil: it could
}

// serve relays one connection until it ends.
func (s *conns) serve(c *net.UnixConn, pid int) {
	conn, kubelet := s.open(c, pid)
	if conn == nil {
		c.Close()
		return
	}
	_ = conn.Run()
	s.remove(conn, kubelet)
}

// open makes a connection to the runtime for a client's; nil if that fails. Only the kubelet's calls are looked at.
func (s *conns) open(c *net.UnixConn, pid int) (conn *relay.Conn, kubelet bool) {
	s.mu.Lock()
	s.opening++
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), dialRuntime)
	defer cancel()
	runtime, err := s.dial(ctx)
	if err == nil {
		var see relay.Watcher = nobody{}
		if kubelet = s.kubelet(pid); kubelet {
			see = s.see
		}
		conn = relay.New(c, runtime, see)
		if kubelet {
			conn.Measure(s.meter)
			conn.Unseen(s.unseen)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening--
	s.refused = err
	if conn == nil {
		return nil, false
	}
	s.all[conn] = kubelet
	if kubelet {
		s.last = pid
	}
	s.wg.Add(1)
	if s.over {
		conn.Drain() // it comes late, and is to go at once
	}
	return conn, kubelet
}

func (s *conns) remove(c *relay.Conn, kubelet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if kubelet {
		s.answered += c.Answered()
	}
	delete(s.all, c)
	s.wg.Done()
}

// leave asks every client to go where the path leads then.
func (s *conns) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for c := range s.all {
		c.Drain()
	}
}

// served returns how many calls of the kubelet were answered, and why the runtime could not be dialled the last
// time.
func (s *conns) served() (answered uint64, refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answered = s.answered
	for c, kubelet := range s.all {
		if kubelet {
			answered += c.Answered()
		}
	}
	return answered, s.refused
}

// waiting returns the calls that the kubelet waits for.
func (s *conns) waiting() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls(func(kubelet bool) bool { return kubelet })
}

// calls returns the calls under way that will end, the oldest first, on the connections that of accepts. The caller
// holds mu.
func (s *conns) calls(of func(kubelet bool) bool) (out []Call) {
	for c, kubelet := range s.all {
		if !of(kubelet) {
			continue
		}
		for _, k := range c.Calls() {
			if !endless[k.Method] {
				out = append(out, Call{k.Method, clock.Of(k.Began)})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Began < out[j].Began })
	return out
}

// busy is when the longest handling began of what is handled now; 0: nothing is.
func (s *conns) busy() (since uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.all {
		for _, began := range c.Busy() {
			since = companion.Older(since, uint64(began))
		}
	}
	return since
}

// kubeletPID returns the kubelet that came last; 0 if none has.
func (s *conns) kubeletPID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// endless are calls that end only with their connection. Clients make them again on the next, so the relay process
// does not wait for them.
var endless = map[string]bool{
	"/runtime.v1.RuntimeService/GetContainerEvents":       true,
	"/containerd.services.events.v1.Events/Subscribe":     true,
	"/containerd.services.events.ttrpc.v1.Events/Forward": true,
}

// left returns what is still under way.
func (s *conns) left() *Left {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Left{Connections: s.opening + len(s.all), Calls: s.calls(func(bool) bool { return true })}
}

// hangUp ends what is left.
func (s *conns) hangUp() {
	s.mu.Lock()
	for c := range s.all {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// String names a call and its age.
func (c Call) String() string {
	name := c.Method
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			name = name[i+1:]
			break
		}
	}
	return fmt.Sprintf("%s for %v", name, clock.Now().Sub(c.Began).Round(time.Second))
}

// nobody is a watcher that looks at no calls. A relay with it still knows where frames end, and can ask its client
// to go.
type nobody struct{}

func (nobody) Wants(string) bool                                       { return false }
func (nobody) Request(*relay.Call, []byte) func(context.Context) error { return nil }
func (nobody) Passed()                                                 {}
func (nobody) End(*relay.Call, []byte, *status.Status, time.Time)      {}
