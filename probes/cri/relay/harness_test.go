package relay

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const maxTestMessage = 64 << 20

// patience is how long a test waits for an event that must come.
const patience = 60 * time.Second

// fakeRuntime is a runtime that does what a call's message asks it to do.
type fakeRuntime struct {
	server *grpc.Server
	cri.UnimplementedRuntimeServiceServer
	listening string
	unread    chan struct{} // closed: read what is sent to /test.Raw/Deaf

	mu    sync.Mutex
	got   []string            // what messages said, in order
	begun map[string]chan any // by name, closed when the call is in the server's hands
	over  map[string]chan error
}

func (f *fakeRuntime) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, what)
}

func (f *fakeRuntime) saw(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range f.got {
		if g == what {
			return true
		}
	}
	return false
}

func channel[T any](f *fakeRuntime, m map[string]chan T, name string) chan T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m[name] == nil {
		m[name] = make(chan T, 1)
	}
	return m[name]
}

func newFakeRuntime(t testing.TB, opts ...grpc.ServerOption) *fakeRuntime {
	f := &fakeRuntime{
		listening: filepath.Join(t.TempDir(), "r.sock"), unread: make(chan struct{}),
		begun: map[string]chan any{}, over: map[string]chan error{},
	}
	opts = append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxTestMessage), grpc.MaxSendMsgSize(maxTestMessage), grpc.UnknownServiceHandler(f.unknown),
	}, opts...)
	s := grpc.NewServer(opts...)
	f.server = s
	cri.RegisterRuntimeServiceServer(s, f)
	healthpb.RegisterHealthServer(s, health.NewServer())
	l, err := net.Listen("unix", f.listening)
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l) //nolint:errcheck // ends with Stop
	t.Cleanup(s.Stop)
	return f
}

// Version answers with the version that it was asked for.
func (f *fakeRuntime) Version(ctx context.Context, r *cri.VersionRequest) (*cri.VersionResponse, error) {
	f.note(r.Version)
	md, _ := metadata.FromIncomingContext(ctx)
	for _, name := range []string{"word", "blob-bin"} {
		for _, v := range md.Get(name) {
			grpc.SetHeader(ctx, metadata.Pairs("back-"+name, v))   //nolint:errcheck // the test sees it
			grpc.SetTrailer(ctx, metadata.Pairs("after-"+name, v)) //nolint:errcheck
		}
	}
	return &cri.VersionResponse{Version: r.Version}, nil
}

// RunPodSandbox waits for its end if the test asks for it.
func (f *fakeRuntime) RunPodSandbox(ctx context.Context, r *cri.RunPodSandboxRequest) (*cri.RunPodSandboxResponse, error) {
	f.note(r.RuntimeHandler)
	close(channel(f, f.begun, r.RuntimeHandler))
	<-ctx.Done()
	channel(f, f.over, r.RuntimeHandler) <- ctx.Err()
	return nil, status.FromContextError(ctx.Err()).Err()
}

// StopPodSandbox fails.
func (f *fakeRuntime) StopPodSandbox(_ context.Context, r *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	st, err := status.New(codes.FailedPrecondition, "no: 100% \n "+r.PodSandboxId+" ü").WithDetails(wrapperspb.String("why"), wrapperspb.Int32(7))
	if err != nil {
		return nil, err
	}
	return nil, st.Err()
}

// GetContainerEvents sends three events and an error.
func (f *fakeRuntime) GetContainerEvents(_ *cri.GetEventsRequest, s cri.RuntimeService_GetContainerEventsServer) error {
	for _, id := range []string{"a", "b", "c"} {
		if err := s.Send(&cri.ContainerEventResponse{ContainerId: id}); err != nil {
			return err
		}
	}
	return status.Error(codes.OutOfRange, "that was all")
}

// unknown serves services that the server does not know: it echoes, but for some methods.
func (f *fakeRuntime) unknown(_ any, s grpc.ServerStream) error {
	switch method, _ := grpc.MethodFromServerStream(s); method {
	case "/test.Raw/Deaf":
		<-f.unread
	case "/test.Raw/Large":
		var m wrapperspb.Int64Value
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		return s.SendMsg(wrapperspb.Bytes(make([]byte, m.Value)))
	}
	for {
		var m wrapperspb.BytesValue
		err := s.RecvMsg(&m)
		if err != nil {
			s.SetTrailer(metadata.Pairs("end", "yes"))
			return nil
		}
		if err := s.SendMsg(&m); err != nil {
			return err
		}
	}
}

// relayed listens and relays each connection to a socket.
type relayed struct {
	listening string
	listener  net.Listener
	running   sync.WaitGroup

	mu    sync.Mutex
	conns []*Conn
	errs  []error
}

func newRelayed(t testing.TB, to string, w Watcher) *relayed {
	r := &relayed{listening: filepath.Join(t.TempDir(), "c.sock")}
	l, err := net.Listen("unix", r.listening)
	if err != nil {
		t.Fatal(err)
	}
	r.listener = l
	r.running.Go(func() { r.serve(to, w) })
	t.Cleanup(func() {
		l.Close()
		r.mu.Lock()
		for _, c := range r.conns {
			c.Close()
		}
		r.mu.Unlock()
		r.running.Wait()
		for _, err := range r.errs {
			if err != nil {
				t.Errorf("the relay: %v", err)
			}
		}
	})
	return r
}

func (r *relayed) serve(to string, w Watcher) {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		runtime, err := net.Dial("unix", to)
		if err != nil {
			client.Close()
			continue
		}
		c := New(client, runtime, w)
		if m, ok := w.(interface{ measure(Times) }); ok {
			c.Measure(m.measure)
		}
		r.mu.Lock()
		r.conns = append(r.conns, c)
		r.mu.Unlock()
		r.running.Go(func() {
			err := c.Run()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.errs = append(r.errs, err)
		})
	}
}

func (r *relayed) first(t testing.TB) *Conn {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.conns) == 0 {
		t.Fatal("nobody has connected")
	}
	return r.conns[0]
}

func dial(t testing.TB, socket string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxTestMessage), grpc.MaxCallSendMsgSize(maxTestMessage)))
	c, err := grpc.NewClient("unix:"+socket, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ending is what a watcher got at the end of a call.
type ending struct {
	call   *Call
	answer []byte
	st     *status.Status
}

// watcher records calls, and holds those that the test asks it to.
type watcher struct {
	wants func(method string) bool
	gate  func(c *Call, message []byte) func(context.Context) error
	ends  chan ending
	// passed may be nil.
	passed func()

	mu   sync.Mutex
	seen []string // the methods asked for
}

// newWatcher returns a watcher that wants all methods that are unary here, and does nothing.
func newWatcher() *watcher {
	return &watcher{ends: make(chan ending, 1<<16), wants: func(method string) bool {
		return method != "/test.Raw/Echo" && method != "/test.Raw/Deaf"
	}}
}

func (w *watcher) Wants(method string) bool { return w.wants(method) }

func (w *watcher) Request(c *Call, message []byte) func(context.Context) error {
	w.mu.Lock()
	w.seen = append(w.seen, c.Method)
	w.mu.Unlock()
	c.State = len(message)
	if w.gate == nil {
		return nil
	}
	return w.gate(c, message)
}

func (w *watcher) Passed() {
	if w.passed != nil {
		w.passed()
	}
}

func (w *watcher) End(c *Call, answer []byte, st *status.Status, _ time.Time) {
	w.ends <- ending{c, answer, st}
}

func (w *watcher) end(t testing.TB) ending {
	t.Helper()
	return await(t, w.ends, "the end of a call")
}

// await waits for a value that must come.
func await[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("not reached")
	}
}

func unmarshal(b []byte, m proto.Message) error { return proto.Unmarshal(b, m) }

func protoSize(m proto.Message) int { return proto.Size(m) }

// settled checks the books of a connection on which nothing is under way.
func settled(t testing.TB, c *Conn) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.account
	if a.kept != 0 || a.reserved != 0 || a.answers != 0 || len(c.released) != 0 || len(c.calls) != 0 || a.debt < 0 || a.window < 0 {
		t.Errorf("not settled: %+v, %d released, %d calls", a, len(c.released), len(c.calls))
	}
}

// replace makes path lead to another socket, without a moment in between.
func replace(to, path string) error {
	if err := os.Symlink(to, path+".new"); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// until waits for a state that no event announces.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come that %s", what)
		}
	}
}
