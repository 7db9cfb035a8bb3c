package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/tui/screen"
)

// agent is a test's agent with one pod, which it holds when asked.
type agent struct {
	agenttest.Agent
	event []byte
	path  string // of its socket, once it is connected
	stop  func()

	mu    sync.Mutex
	holds []*agentpb.HoldInfo
	last  uint32
	seq   uint64        // of the events of its holds
	gone  chan struct{} // a stream that a hold lived by has ended
	// closely gets the uid of each pod as it is watched closely, and - with the uid when that ends.
	closely chan string
	// refuses is how many requests for that are refused first.
	refuses atomic.Int32
}

var web = &agentpb.Pod{Id: 1, Namespace: "default", Name: "web", Uid: "u1"}

func newAgent(pid int64) *agent {
	return &agent{
		Agent: agenttest.Agent{About: &agentpb.InfoResponse{Pid: pid, Node: "node-1", Steps: []*agentpb.Step{{Name: "sync.pod"}}, Goroutines: []string{""}}},
		event: eventtest.Encode(&agentpb.Event{Seq: 1, Kind: agentpb.Kind_HOLD, Step: 1, Pod: 1}), gone: make(chan struct{}, 8),
		closely: make(chan string, 8),
	}
}

// serve serves at path until stop is called.
func (a *agent) serve(t *testing.T, path string) (stop func()) {
	t.Helper()
	return agenttest.Serve(t, a, path)
}

func (a *agent) Watch(r *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	if err := s.Send(&agentpb.Batch{Pods: []*agentpb.Pod{web}, Events: [][]byte{a.event}, CaughtUp: true}); err != nil || r.OnlyHistory {
		return err
	}
	<-s.Context().Done()
	return nil
}

func (a *agent) WatchClosely(r *agentpb.WatchCloselyRequest, s grpc.ServerStreamingServer[agentpb.WatchCloselyResponse]) error {
	if a.refuses.Add(-1) >= 0 {
		return reason.Failed(codes.ResourceExhausted, &agentpb.Problem{Code: agentpb.Problem_TOO_MANY_WATCHERS})
	}
	a.closely <- r.GetPods().GetUid()
	<-s.Context().Done()
	a.closely <- "-" + r.GetPods().GetUid()
	return nil
}

func (a *agent) Pods(context.Context, *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	return &agentpb.PodsResponse{Pods: []*agentpb.PodState{{Pod: web}}}, nil
}

func (a *agent) Stats(context.Context, *agentpb.StatsRequest) (*agentpb.StatsResponse, error) {
	return &agentpb.StatsResponse{}, nil
}

func (a *agent) hold(breakpoint uint32) *agentpb.HoldInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last++
	h := &agentpb.HoldInfo{Id: a.last, Pod: web, Step: "sync.pod", On: "enter", Breakpoint: breakpoint, Seq: a.seq}
	a.holds = append(a.holds, h)
	return h
}

func (a *agent) HoldWhile(_ *agentpb.HoldRequest, s grpc.ServerStreamingServer[agentpb.HoldInfo]) error {
	h := a.hold(0)
	if err := s.Send(h); err != nil {
		return err
	}
	<-s.Context().Done()
	a.mu.Lock()
	a.holds = slices.DeleteFunc(a.holds, func(o *agentpb.HoldInfo) bool { return o.Id == h.Id })
	a.mu.Unlock()
	a.gone <- struct{}{}
	return nil
}

func (a *agent) Step(context.Context, *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	return a.hold(0), nil
}

func (a *agent) Continue(_ context.Context, r *agentpb.ContinueRequest) (*agentpb.ContinueResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := &agentpb.ContinueResponse{Released: a.holds}
	a.holds = nil
	return out, nil
}

func (a *agent) ListHolds(context.Context, *agentpb.ListHoldsRequest) (*agentpb.ListHoldsResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &agentpb.ListHoldsResponse{Holds: slices.Clone(a.holds)}, nil
}

// left returns how many holds and breakpoints there are.
func (a *agent) left() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.holds) + len(a.Breakpoints())
}

func open(t *testing.T, path string) *live {
	t.Helper()
	c, err := client.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	l := startLive(c, silence)
	t.Cleanup(l.Close)
	return l
}

// connected returns a new agent, and a session that has heard from it.
func connected(t *testing.T) (*agent, *live) {
	t.Helper()
	a := newAgent(1)
	a.path = filepath.Join(t.TempDir(), "s")
	a.stop = a.serve(t, a.path)
	l := open(t, a.path)
	until(t, l, func(n News) bool { return n.Info != nil })
	return a, l
}

// follow takes all news, as a screen does, until the test ends.
func follow(t *testing.T, s Session) {
	go func() {
		for {
			if _, err := s.Next(t.Context()); err != nil {
				return
			}
		}
	}()
}

// until takes news until one meets the condition.
func until(t *testing.T, s Session, is func(News) bool) News {
	t.Helper()
	for {
		n, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if is(n) {
			return n
		}
	}
}

func TestLive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	newAgent(1).serve(t, path)
	l := open(t, path)
	first := until(t, l, func(n News) bool { return n.Info != nil })
	if first.Info.Pid != 1 || first.Link == nil || first.Link.Link != screen.LinkLive {
		t.Errorf("first news %+v", first)
	}
	if !first.CaughtUp {
		until(t, l, func(n News) bool { return n.CaughtUp })
	}
	until(t, l, func(n News) bool { return n.Poll != nil && len(n.Poll.Pods) == 1 })
}

// TestLiveSilent: the session gives up a connection at whose other end nobody answers, and says so.
func TestLiveSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	a := newAgent(1)
	a.serve(t, path)
	c, err := client.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	l := startLive(c, time.Millisecond)
	t.Cleanup(l.Close)
	a.mu.Lock() // the agent cannot look at its holds
	n := until(t, l, func(n News) bool { return n.Link != nil && n.Link.Link == screen.LinkReconnecting })
	a.mu.Unlock()
	if !errors.As(n.Link.Why, new(silentError)) {
		t.Errorf("the silence is reported as %v", n.Link.Why)
	}
	until(t, l, func(n News) bool { return n.Link != nil && n.Link.Link == screen.LinkLive })
}

// TestWhileConnected: breakpoints and holds end with the connection.
func TestWhileConnected(t *testing.T) {
	_, l := connected(t)
	follow(t, l)
	step := &agentpb.StepRequest{}
	if _, err := l.Step(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	b, err := l.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !step.WhileConnected || !b.Spec.WhileConnected {
		t.Errorf("a step %v and a breakpoint %v end with the connection", step.WhileConnected, b.Spec.WhileConnected)
	}
}

func (a *agent) Look(_ context.Context, r *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	return &agentpb.LookResponse{Value: &agentpb.Variable{Name: r.Expression, Value: r.Pods.Uid}}, nil
}

// TestLook: the agent answers for its debugger. If there is no agent, the call fails.
func TestLook(t *testing.T) {
	a, l := connected(t)
	out, err := l.Look(t.Context(), &agentpb.LookRequest{Pods: Only(web), Expression: "pod.UID"})
	if err != nil || out.GetValue().GetName() != "pod.UID" || out.GetValue().GetValue() != web.Uid {
		t.Errorf("the answer is %v, %v", out, err)
	}
	a.stop()
	until(t, l, func(n News) bool { return n.Link != nil && n.Link.Link == screen.LinkReconnecting })
	if _, err := l.Look(t.Context(), &agentpb.LookRequest{}); !errors.Is(err, errNoAgent) {
		t.Errorf("without an agent: %v", err)
	}
}

// TestLiveComesBack: when the agent dies, the session says so and why, tries again, and then reports the agent that
// it has found.
func TestLiveComesBack(t *testing.T) {
	a, l := connected(t)
	a.stop()
	n := until(t, l, func(n News) bool { return n.Link != nil && n.Link.Link == screen.LinkReconnecting })
	if n.Link.Why == nil || n.Link.Retry.IsZero() {
		t.Errorf("the end is reported as %+v", n.Link)
	}
	if _, err := l.Step(t.Context(), &agentpb.StepRequest{}); err == nil {
		t.Error("one can step without an agent")
	}
	newAgent(2).serve(t, a.path)
	n = until(t, l, func(n News) bool { return n.Info != nil })
	if n.Info.Pid != 2 {
		t.Errorf("the other agent is reported as %v", n.Info)
	}
}

// TestHoldLivesByUs: the hold ends when the session does.
func TestHoldLivesByUs(t *testing.T) {
	a, l := connected(t)
	follow(t, l)
	h, err := l.Hold(t.Context(), &agentpb.HoldRequest{})
	if err != nil || h.GetPod().GetName() != "web" {
		t.Fatalf("hold %v, %v", h, err)
	}
	l.Close()
	<-a.gone
	if a.left() != 0 {
		t.Error("the pod is still held")
	}
}

// TestLedger: Release undoes what was done through the ledger, once, and nothing of others.
func TestLedger(t *testing.T) {
	a, live := connected(t)
	follow(t, live)
	s, l := WithLedger(live)
	others, err := live.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Control().AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Control().Step(t.Context(), &agentpb.StepRequest{}); err != nil {
		t.Fatal(err)
	}
	released, err := l.Release(t.Context())
	if err != nil || !slices.Equal(released, []string{"default/web"}) {
		t.Errorf("released %q, %v", released, err)
	}
	if a.left() != 1 || a.Breakpoints()[0].Id != others.Id {
		t.Errorf("left are %v and %v, want only the breakpoint of others", a.holds, a.Breakpoints())
	}
	if _, err := s.Control().Step(t.Context(), &agentpb.StepRequest{}); err == nil {
		t.Error("a pod can be held after the end")
	}
}

func TestLedgerLeavesOthersAlone(t *testing.T) {
	a, live := connected(t)
	a.hold(0)
	_, l := WithLedger(live)
	if released, err := l.Release(t.Context()); err != nil || len(released) != 0 || a.left() != 1 {
		t.Errorf("released %q, %v; %d left", released, err, a.left())
	}
}

// TestRecordAndReplay: a replay shows what was recorded.
func TestRecordAndReplay(t *testing.T) {
	_, l := connected(t)
	file := filepath.Join(t.TempDir(), "x.podstep")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		events, err := l.Record(ctx, file)
		if err == nil && events != 1 {
			t.Errorf("%d events were recorded, want 1", events)
		}
		ended <- err
	}()
	waitForEvent(t, file)
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	s := NewReplay(file, r)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Control() != nil || s.File() != file {
		t.Error("a file can be acted on, or has no name")
	}
	got := 0
	n := until(t, s, func(n News) bool { got += eventsIn(n); return n.CaughtUp })
	if got != 1 || n.Fault != nil {
		t.Errorf("%d events, %v", got, n.Fault)
	}
}

// waitForEvent reads a file that is being written until it has an event.
func waitForEvent(t *testing.T, file string) {
	t.Helper()
	for {
		r, err := trace.Open(file)
		if err == nil {
			r.Follow(t.Context())
			b, err := r.Next()
			for err == nil && len(b.Events) == 0 {
				b, err = r.Next()
			}
			r.Close()
			if err == nil {
				return
			}
		}
		if t.Context().Err() != nil {
			t.Fatal("nothing was recorded")
		}
	}
}

// replaced is an agent whose kubelet is replaced by one of another version after podstep has asked for it.
type replaced struct {
	*agent
	asked atomic.Int32
}

func (a *replaced) Info(context.Context, *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	out := proto.CloneOf(a.About)
	out.KubeletVersion = fmt.Sprintf("v1.%d.0", 30+a.asked.Add(1))
	return out, nil
}

// TestLiveRenewed: when the agent states how a probe fares, the session asks what it can see now.
func TestLiveRenewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	a := &replaced{agent: newAgent(1)}
	a.event = eventtest.Encode(&agentpb.Event{Seq: 1, Kind: agentpb.Kind_NOTE, Probe: 1})
	agenttest.Serve(t, a, path)
	l := open(t, path)
	first := until(t, l, func(n News) bool { return n.Info != nil })
	renewed := first.Renewed
	if renewed == nil {
		renewed = until(t, l, func(n News) bool { return n.Renewed != nil }).Renewed
	}
	if first.Info.KubeletVersion != "v1.31.0" || renewed.KubeletVersion != "v1.32.0" {
		t.Errorf("the kubelet's version is %s, then %s", first.Info.KubeletVersion, renewed.KubeletVersion)
	}
	until(t, l, func(n News) bool { return n.Poll != nil })
	if n := a.asked.Load(); n != 2 {
		t.Errorf("it has asked %d times", n)
	}
}

// TestWatchClosely: the agent is asked for one pod at a time, again if it refuses, and another agent for the last one.
func TestWatchClosely(t *testing.T) {
	a, l := connected(t)
	follow(t, l)
	want := func(a *agent, all ...string) {
		t.Helper()
		for range all {
			select {
			case got := <-a.closely:
				if !slices.Contains(all, got) {
					t.Errorf("the agent is asked for %s, want %v", got, all)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("the agent is not asked for all of %v", all)
			}
		}
	}
	a.refuses.Store(1)
	l.WatchClosely("u1")
	want(a, "u1")
	l.WatchClosely("u1")
	l.WatchClosely("u2")
	want(a, "-u1", "u2")
	a.stop()
	want(a, "-u2")
	next := newAgent(2)
	next.serve(t, a.path)
	want(next, "u2")
	l.WatchClosely("")
	want(next, "-u2")
}
