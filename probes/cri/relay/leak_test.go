package relay

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestNothingIsLeft: after a connection, however it ended, its sockets are closed and none of its goroutines is
// left.
func TestNothingIsLeft(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	for i := range 30 {
		c := dial(t, r.listening)
		if err := await(t, version(t.Context(), c, "other", 10), "a call"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := version(ctx, c, "web", 10)
		await(t, h.held, "the hold")
		r.mu.Lock()
		conn := r.conns[i]
		r.mu.Unlock()
		switch i % 3 {
		case 0:
			c.Close()
		case 1:
			conn.Close()
		case 2:
			conn.runtime.Close()
		}
		await(t, done, "the held call")
		await(t, h.given, "the end of the gate's context")
		cancel()
		c.Close()
	}
	r.listener.Close()
	r.running.Wait()
	for _, c := range r.conns {
		for _, side := range []net.Conn{c.client, c.runtime} {
			if err := side.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a connection is still open: %v", err)
			}
		}
	}
	for _, what := range []string{"relay.(*pump)", "relay.(*output)", "relay.(*Conn)"} {
		until(t, "no goroutine of "+what+" is left", func() bool {
			stacks := make([]byte, 1<<20)
			return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), what)
		})
	}
}
