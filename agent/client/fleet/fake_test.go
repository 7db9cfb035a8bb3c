package fleet

import (
	"cmp"
	"context"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// fakeAgent has pods whose state a test sets, and may hang, flood, or not know its requests.
type fakeAgent struct {
	agenttest.Agent
	mu    sync.Mutex
	state string // of its pod
	asked int    // how often it was asked for its pods
	next  string // the version of the kubelet that was started in place of the first; empty: none was

	old    bool          // it knows neither Watch nor Pods
	hangs  bool          // it answers the first question for its pods, and no other
	floods bool          // it sends events without end
	news   chan struct{} // for each item it sends an event; nil: none
}

func newAgent(node string, pid int64) *fakeAgent {
	info := agenttest.Info()
	info.Node, info.Pid = node, pid
	return &fakeAgent{Agent: agenttest.Agent{About: info}, state: "running", news: make(chan struct{})}
}

func (f *fakeAgent) Info(context.Context, *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := proto.CloneOf(f.About)
	out.KubeletVersion = cmp.Or(f.next, out.KubeletVersion)
	return out, nil
}

func (f *fakeAgent) Pods(ctx context.Context, _ *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	f.mu.Lock()
	f.asked++
	state, again := f.state, f.asked > 1
	f.mu.Unlock()
	switch {
	case f.old:
		return nil, status.Error(codes.Unimplemented, "unknown method Pods")
	case f.hangs && again:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &agentpb.PodsResponse{Pods: []*agentpb.PodState{{Pod: &agentpb.Pod{Id: 1, Namespace: "shop", Name: "web", Uid: "u"}, State: state}}}, nil
}

func (f *fakeAgent) Watch(_ *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	if f.old {
		return status.Error(codes.Unimplemented, "unknown method Watch")
	}
	event := &agentpb.Event{Kind: agentpb.Kind_NOTE, Fields: []*agentpb.Field{eventtest.Field("text", string(make([]byte, 1000)))}}
	for f.floods {
		if err := s.Send(eventtest.Batch(event, event, event, event)); err != nil {
			return err
		}
	}
	for {
		select {
		case <-f.news:
			f.mu.Lock()
			if f.next != "" {
				event = &agentpb.Event{Kind: agentpb.Kind_NOTE, Probe: 1}
			}
			f.mu.Unlock()
			if err := s.Send(eventtest.Batch(event)); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

// become gives the pod another state, and sends an event.
func (f *fakeAgent) become(t *testing.T, state string) {
	t.Helper()
	f.mu.Lock()
	f.state = state
	f.mu.Unlock()
	select {
	case f.news <- struct{}{}:
	case <-t.Context().Done():
		t.Fatal("nobody watches the agent")
	}
}

// socketOf returns a path for the socket of a node.
func socketOf(t testing.TB, node string) string { return filepath.Join(t.TempDir(), node+".sock") }

// listener serves the connections of a socket with a function, until the test ends. It is no agent.
func listener(t *testing.T, path string, serve func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		conns.Wait()
	})
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() {
				defer c.Close()
				serve(c)
			})
		}
	})
}

// short are times for tests. No answer takes as long as answer, unless there will be none.
var short = timing{
	answer: 2 * time.Second, firstRetry: 10 * time.Millisecond, lastRetry: 50 * time.Millisecond,
	atMost: 5 * time.Millisecond, atLeast: 50 * time.Millisecond, second: 50 * time.Millisecond, budget: 100_000,
}

// until waits until the nodes are as a test wants them, and returns them.
func until(t *testing.T, f *Fleet, is func([]Status) bool) []Status {
	t.Helper()
	for {
		all, err := f.Next(t.Context())
		if err != nil {
			t.Fatalf("the nodes do not become so: %v", err)
		}
		if is(all) {
			return all
		}
	}
}

// podState returns the state of the only pod of a node; "": it is not known.
func podState(s *Status) string {
	if len(s.Pods) == 0 {
		return ""
	}
	return s.Pods[0].State
}
