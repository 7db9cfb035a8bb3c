package attach

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri/relayproc"
	"github.com/podstep/podstep/probes/cri/takeover"
	"github.com/podstep/podstep/probes/kubelets"
)

// patience is how long a test waits for what must come.
const patience = 60 * time.Second

// TestPlayGuard runs the guard in this test binary.
func TestPlayGuard(t *testing.T) {
	if flag.Arg(0) != "guard" {
		t.Skip("it is the guard of other tests")
	}
	os.Exit(takeover.Guard())
}

// TestPlayRelay runs the relay process in this test binary.
func TestPlayRelay(t *testing.T) {
	if flag.Arg(0) != "relay" {
		t.Skip("it is the relay process of other tests")
	}
	os.Exit(relayproc.Main())
}

// played makes a session start this test binary for its other processes.
func played(o Options) Options {
	o.guard = []string{"/proc/self/exe", "-test.run=^TestPlayGuard$", "guard"}
	o.relay = []string{"/proc/self/exe", "-test.run=^TestPlayRelay$", "relay"}
	return o
}

// playedRuntime is a runtime in this process.
type playedRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	path      string
	sandboxes []*runtimeapi.PodSandbox
	list      chan struct{} // if not nil, lists wait until it is closed

	mu    sync.Mutex
	lists int // how many lists were asked for
}

func playRuntime(t *testing.T) *playedRuntime {
	t.Helper()
	r := &playedRuntime{path: filepath.Join(t.TempDir(), "r.sock")}
	l, err := net.Listen("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(s, r)
	go s.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(s.Stop)
	return r
}

func (r *playedRuntime) Version(_ context.Context, q *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: q.Version}, nil
}

// Status has its answer ready after a while.
func (r *playedRuntime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	time.Sleep(time.Millisecond)
	return &runtimeapi.StatusResponse{}, nil
}

func (r *playedRuntime) ListPodSandbox(ctx context.Context, _ *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	r.mu.Lock()
	r.lists++
	r.mu.Unlock()
	if r.list != nil {
		select {
		case <-r.list:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &runtimeapi.ListPodSandboxResponse{Items: r.sandboxes}, nil
}

func (r *playedRuntime) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{}, nil
}

// GetContainerEvents is a stream without an end.
func (r *playedRuntime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, s runtimeapi.RuntimeService_GetContainerEventsServer) error {
	if err := s.Send(&runtimeapi.ContainerEventResponse{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// attachTo starts a session that has taken over the runtime's socket, with more probes if any are given. Calls that
// come through it are of no process that it knows.
func attachTo(t *testing.T, r *playedRuntime, more ...Kind) *Session {
	t.Helper()
	dir := t.TempDir()
	s, err := Start(t.Context(), played(Options{
		// It has no process, so that the test's calls do not count as the kubelet's.
		Kubelet: kubelets.Kubelet{RuntimeEndpoint: r.path, OwnNetwork: true, Root: "/"},
		Socket:  filepath.Join(dir, "agent.sock"), State: filepath.Join(dir, "state"), Probes: append([]Kind{CRI}, more...),
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	return s
}

func dialPath(t *testing.T, path string) runtimeapi.RuntimeServiceClient {
	t.Helper()
	c, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return runtimeapi.NewRuntimeServiceClient(c)
}

// calling makes calls all the time, until its stop is called.
type calling struct {
	t       *testing.T
	made    chan struct{} // gets a value for each call that was made, if there is room
	stop    atomic.Bool
	callers sync.WaitGroup
}

func startCalling(t *testing.T, client runtimeapi.RuntimeServiceClient) *calling {
	c := &calling{t: t, made: make(chan struct{})}
	// Few, so that again and again no call is under way.
	for i := range 2 {
		c.callers.Go(func() {
			for !c.stop.Load() {
				var err error
				if i%2 == 0 {
					_, err = client.Version(t.Context(), &runtimeapi.VersionRequest{})
				} else {
					_, err = client.Status(t.Context(), &runtimeapi.StatusRequest{})
				}
				if err != nil {
					t.Error(err)
					return
				}
				select {
				case c.made <- struct{}{}:
				default:
				}
			}
		})
	}
	return c
}

// await waits for that many more calls.
func (c *calling) await(n int) {
	c.t.Helper()
	for range n {
		select {
		case <-c.made:
		case <-time.After(patience):
			c.t.Fatal("no call is made any more")
		}
	}
}

func (c *calling) end() {
	c.stop.Store(true)
	c.callers.Wait()
}

// TestDetachLosesNothing: no call that is made while podstep detaches fails.
func TestDetachLosesNothing(t *testing.T) {
	r := playRuntime(t)
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		s := attachTo(t, r)
		c := startCalling(t, dialPath(t, r.path))
		c.await(50)
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		c.await(50)
		c.end()
		if t.Failed() {
			return
		}
	}
}

// TestDetachLeavesStreams: podstep detaches although a stream has no end, and although a silent connection cannot be
// asked to close.
func TestDetachLeavesStreams(t *testing.T) {
	r := playRuntime(t)
	s := attachTo(t, r)
	events, err := dialPath(t, r.path).GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := events.Recv(); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("unix", r.path)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	stopped(t, s)
	if _, err := events.Recv(); err == nil {
		t.Error("the stream goes on")
	}
}

// TestDetachLeavesCalls: if Stop's context has ended, podstep does not wait for a long call, and the call comes to
// its end all the same.
func TestDetachLeavesCalls(t *testing.T) {
	r := playRuntime(t)
	s := attachTo(t, r)
	r.list = make(chan struct{})
	ended := make(chan error, 1)
	client := dialPath(t, r.path)
	go func() {
		_, err := client.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
		ended <- err
	}()
	until(t, "the call comes to the runtime", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.lists > 1 // the first is podstep's own
	})
	hurry, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Stop(hurry); err != nil {
		t.Error(err)
	}
	awaitBack(t, r)
	select {
	case err := <-ended:
		t.Fatalf("the call has ended: %v", err)
	default:
	}
	close(r.list)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// hung is a probe whose Stop does not return before end is closed.
type hung struct{ end chan struct{} }

func (hung) Start(_ context.Context, h *Host) error { h.Working(nil); return nil }
func (p hung) Stop(context.Context) error           { <-p.end; return nil }

// TestDetachLeavesHungProbes: whatever another probe does, the path is given back.
func TestDetachLeavesHungProbes(t *testing.T) {
	r := playRuntime(t)
	end := make(chan struct{})
	s := attachTo(t, r, Kind{
		Name: "hung", Abilities: func(*probes.Catalogue, *Target) probes.Abilities { return probes.Abilities{Probe: "hung"} },
		New: func(*Target) (Probe, error) { return hung{end}, nil },
	})
	ended := make(chan error, 1)
	go func() { ended <- s.Stop(context.WithoutCancel(t.Context())) }()
	awaitBack(t, r)
	if _, err := dialPath(t, r.path).Version(t.Context(), &runtimeapi.VersionRequest{}); err != nil {
		t.Error(err)
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// awaitBack waits until the path is the runtime's again.
func awaitBack(t *testing.T, r *playedRuntime) {
	t.Helper()
	until(t, "the path is given back", func() bool {
		_, err := os.Lstat(r.path + ".podstep")
		return err != nil
	})
}

// until polls until is returns true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("it does not come about that %s", what)
}

// stopped stops a session, and fails the test if that does not end.
func stopped(t *testing.T, s *Session) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Stop(context.WithoutCancel(t.Context())) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
}
