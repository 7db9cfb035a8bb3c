package relay

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc/connectivity"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestDrainLosesNothing: a client under load is moved from the relay to the
// runtime, and none of its calls fails.
func TestDrainLosesNothing(t *testing.T) {
	f, w := newFakeRuntime(t), newWatcher()
	for round := range 20 {
		r := newRelayed(t, f.listening, w)
		c := dial(t, r.listening)
		var calls, stop atomic.Int64
		var all sync.WaitGroup
		reached := make(chan struct{}, 1<<16)
		for range 16 {
			all.Go(func() {
				for stop.Load() == 0 {
					want := strings.Repeat("x", int(calls.Add(1)%5)*10000)
					a, err := cri.NewRuntimeServiceClient(c).Version(t.Context(), &cri.VersionRequest{Version: want})
					if err != nil || a.Version != want {
						t.Errorf("round %d: %v", round, err)
						return
					}
					select {
					case reached <- struct{}{}:
					default:
					}
				}
			})
		}
		for range 200 {
			await(t, reached, "a call")
		}
		relink(t, r, f.listening)
		r.mu.Lock()
		for _, conn := range r.conns {
			conn.Drain()
		}
		r.mu.Unlock()
		r.running.Wait() // all connections through the relay have ended
		for len(reached) > 0 {
			<-reached // calls from before
		}
		for range 200 {
			await(t, reached, "a call")
		}
		stop.Store(1)
		all.Wait()
		if c.GetState() != connectivity.Ready {
			t.Errorf("the client is %v", c.GetState())
		}
	}
}

// relink makes new connections reach the runtime without the relay. It ends the relay's listener when no connection
// waits in it.
func relink(t *testing.T, r *relayed, to string) {
	t.Helper()
	if err := replace(to, r.listening); err != nil {
		t.Fatal(err)
	}
	l := r.listener.(*net.UnixListener)
	l.SetUnlinkOnClose(false)
	l.Close()
}

func TestDrainWaitsForCalls(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	web := version(t.Context(), c, "web", 100<<10)
	await(t, h.held, "the hold")
	conn := r.first(t)
	conn.Drain()
	if err := await(t, version(t.Context(), c, "other", 1), "a call on a new connection"); err != nil {
		t.Error(err)
	}
	if calls := conn.Calls(); len(calls) != 1 || calls[0].Method != cri.RuntimeService_Version_FullMethodName {
		t.Errorf("under way on the old connection: %v", calls)
	}
	h.decide(t, nil)
	if err := await(t, web, "the held call"); err != nil {
		t.Error(err)
	}
	await(t, conn.ended, "the end of the drained connection")
}
