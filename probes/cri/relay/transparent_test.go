package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// transparent are calls whose outcome must be the same with and without the
// relay.
var transparent = []struct {
	name string
	do   func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string
}{
	{"unary", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		r, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: "x"})
		return fmt.Sprint(r, err)
	}},
	{"another service", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		r, err := healthpb.NewHealthClient(c).Check(ctx, &healthpb.HealthCheckRequest{})
		return fmt.Sprint(r.GetStatus(), err)
	}},
	{"unimplemented", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		_, err := cri.NewRuntimeServiceClient(c).ListContainers(ctx, &cri.ListContainersRequest{})
		return fmt.Sprint(err)
	}},
	{"error with details", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		_, err := cri.NewRuntimeServiceClient(c).StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: "sb"})
		st := status.Convert(err)
		return fmt.Sprint(st.Code(), st.Message(), st.Details())
	}},
	{"metadata and trailers", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		var header, trailer metadata.MD
		ctx = metadata.AppendToOutgoingContext(ctx, "word", "a", "word", "b", "blob-bin", "\x00\xff\x01")
		_, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: "x"}, grpc.Header(&header), grpc.Trailer(&trailer))
		return fmt.Sprint(header, trailer, err)
	}},
	{"headers larger than a frame", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		var header metadata.MD
		ctx = metadata.AppendToOutgoingContext(ctx, "word", strings.Repeat("long ", 10000))
		_, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: "x"}, grpc.Header(&header))
		return fmt.Sprint(len(header.Get("back-word")[0]), err)
	}},
	{"compressed", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		r, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: strings.Repeat("x", 9999)}, grpc.UseCompressor(gzip.Name))
		return fmt.Sprint(r, err)
	}},
	{"deadline at the server", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		if _, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{}); err != nil {
			return err.Error() // connect first: the deadline is for the call
		}
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := cri.NewRuntimeServiceClient(c).RunPodSandbox(ctx, &cri.RunPodSandboxRequest{RuntimeHandler: "deadline"})
		await(t, channel(f, f.over, "deadline"), "the end at the server")
		return fmt.Sprint(status.Code(err))
	}},
	{"cancellation at the server", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		begun, over := channel(f, f.begun, "cancel"), channel(f, f.over, "cancel")
		go func() {
			<-begun
			cancel()
		}()
		_, err := cri.NewRuntimeServiceClient(c).RunPodSandbox(ctx, &cri.RunPodSandboxRequest{RuntimeHandler: "cancel"})
		return fmt.Sprint(status.Code(err), await(t, over, "the end at the server"))
	}},
	{"15 MiB both ways", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		want := strings.Repeat("0123456789abcde\n", 15<<16)
		r, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: want})
		return fmt.Sprint(r.GetVersion() == want, err)
	}},
	{"40 MiB both ways", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		want := strings.Repeat("0123456789abcde\n", 40<<16)
		r, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: want})
		return fmt.Sprint(r.GetVersion() == want, err)
	}},
	{"server stream", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		s, err := cri.NewRuntimeServiceClient(c).GetContainerEvents(ctx, &cri.GetEventsRequest{})
		if err != nil {
			return err.Error()
		}
		out := ""
		for {
			e, err := s.Recv()
			if err != nil {
				return out + err.Error()
			}
			out += e.ContainerId
		}
	}},
	{"bidi stream, half-close", echo("/test.Raw/Echo")},
	{"a stream that is taken for unary", echo("/test.Raw/Taken")},
	{"200 at once", func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		var all sync.WaitGroup
		bad := make(chan error, 200)
		for i := range 200 {
			all.Go(func() {
				want := strings.Repeat("x", i*500)
				r, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: want})
				if err == nil && r.Version != want {
					err = errors.New("another's answer")
				}
				if err != nil {
					bad <- err
				}
			})
		}
		all.Wait()
		close(bad)
		return fmt.Sprint(<-bad)
	}},
}

func echo(method string) func(*testing.T, context.Context, *grpc.ClientConn, *fakeRuntime) string {
	return func(t *testing.T, ctx context.Context, c *grpc.ClientConn, f *fakeRuntime) string {
		s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
		if err != nil {
			return err.Error()
		}
		for i := range 20 {
			want := bytes.Repeat([]byte{byte(i)}, i*1000)
			if err := s.SendMsg(wrapperspb.Bytes(want)); err != nil {
				return err.Error()
			}
			var got wrapperspb.BytesValue
			if err := s.RecvMsg(&got); err != nil {
				return err.Error()
			}
			if !bytes.Equal(got.Value, want) {
				return "another echo"
			}
		}
		s.CloseSend()
		err = s.RecvMsg(&wrapperspb.BytesValue{})
		return fmt.Sprint(err, s.Trailer())
	}
}

func TestTransparent(t *testing.T) {
	for name, w := range map[string]Watcher{"watched": newWatcher(), "held briefly": brief(), "unwatched": unwatched{}, "bytes": nil} {
		for _, c := range transparent {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				f, g := newFakeRuntime(t), newFakeRuntime(t)
				direct := c.do(t, t.Context(), dial(t, f.listening), f)
				through := c.do(t, t.Context(), dial(t, newRelayed(t, g.listening, w).listening), g)
				if direct != through {
					t.Errorf("direct:  %.500s\nrelayed: %.500s", direct, through)
				}
			})
		}
	}
}

// brief holds each call, and lets it go at once.
func brief() *watcher {
	w := newWatcher()
	w.gate = func(*Call, []byte) func(context.Context) error { return func(context.Context) error { return nil } }
	return w
}

type unwatched struct{ Watcher }

func (unwatched) Wants(string) bool { return false }

// TestPassed: the watcher is told that a message went on once it has.
func TestPassed(t *testing.T) {
	w := newWatcher()
	there := make(chan string, 10)
	client, runtime, _ := begin(t, w)
	w.passed = func() { there <- string(peek(t, runtime.conn)) }
	m := message("hello")
	for stream := uint32(1); stream < 5; stream += 2 {
		client.headers(stream, false, ":path", aMethod)
		client.must(client.WriteData(stream, true, m))
		if got := await(t, there, "that it went on"); !strings.Contains(got, "hello") {
			t.Errorf("when the watcher heard of it the runtime had %q", got)
		}
		if f := next[*http2.DataFrame](runtime); !f.StreamEnded() {
			t.Errorf("%v", f)
		}
	}
}

// peek returns what can be read at once.
func peek(t *testing.T, c *net.UnixConn) []byte {
	b := make([]byte, 1<<10)
	n := 0
	raw, err := c.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) {
			n, _, _ = unix.Recvfrom(int(fd), b, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		})
	}
	if err != nil {
		t.Error(err)
	}
	return b[:max(n, 0)]
}

func TestMaxConcurrentStreams(t *testing.T) {
	f := newFakeRuntime(t, grpc.MaxConcurrentStreams(2))
	r := newRelayed(t, f.listening, newWatcher())
	c := cri.NewRuntimeServiceClient(dial(t, r.listening))
	ctx, cancel := context.WithCancel(t.Context())
	for _, name := range []string{"a", "b"} {
		go c.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{RuntimeHandler: name}) //nolint:errcheck // it is cancelled
		await(t, channel(f, f.begun, name), "call "+name)
	}
	third := make(chan error, 1)
	go func() {
		_, err := c.Version(t.Context(), &cri.VersionRequest{Version: "third"})
		third <- err
	}()
	time.Sleep(200 * time.Millisecond) // for calls that must not come
	if f.saw("third") || len(r.first(t).Calls()) != 2 {
		t.Error("a third call came through")
	}
	cancel()
	if err := await(t, third, "the third call"); err != nil {
		t.Error(err)
	}
}

// TestBackpressure: a server that does not read stops the client, and the relay
// keeps nothing.
func TestBackpressure(t *testing.T) {
	f := newFakeRuntime(t, grpc.InitialWindowSize(64<<10))
	r := newRelayed(t, f.listening, newWatcher())
	s, err := dial(t, r.listening).NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/test.Raw/Deaf")
	if err != nil {
		t.Fatal(err)
	}
	const n = 64
	sent := make(chan int, n+1)
	go func() {
		for i := range n {
			if s.SendMsg(wrapperspb.Bytes(make([]byte, 32<<10))) != nil {
				break
			}
			sent <- i
		}
		close(sent)
	}()
	await(t, sent, "the first message")
	conn := r.first(t)
	var kept int64
	until(t, "the stream's window is used up", func() bool {
		conn.mu.Lock()
		defer conn.mu.Unlock()
		kept = conn.account.kept
		for _, k := range conn.calls {
			return k.window == 0
		}
		return false
	})
	if kept > 0 || len(sent) >= n-1 {
		t.Errorf("%d bytes are kept, %d more messages were sent to a server that does not read", kept, len(sent))
	}
	close(f.unread)
	for range n {
		if err := s.RecvMsg(&wrapperspb.BytesValue{}); err != nil {
			t.Fatal(err)
		}
	}
	s.CloseSend()
	if err := s.RecvMsg(&wrapperspb.BytesValue{}); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
}

func TestWatcherSees(t *testing.T) {
	f := newFakeRuntime(t)
	w := newWatcher()
	r := newRelayed(t, f.listening, w)
	c := cri.NewRuntimeServiceClient(dial(t, r.listening))
	const within = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	for _, tt := range []struct {
		name string
		size int
		opts []grpc.CallOption
	}{
		{"small", 3, nil},
		{"over a frame", 20 << 10, nil},
		{"over a window", 200 << 10, nil},
		{"compressed", 200 << 10, []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
		{"large", 15 << 20, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := &cri.VersionRequest{Version: strings.Repeat("v", tt.size)}
			if _, err := c.Version(ctx, req, tt.opts...); err != nil {
				t.Fatal(err)
			}
			e := w.end(t)
			var answer cri.VersionResponse
			if err := unmarshal(e.answer, &answer); err != nil {
				t.Fatal(err)
			}
			if answer.Version != req.Version || e.call.State != protoSize(req) || e.st.Code() != codes.OK || e.call.Method != cri.RuntimeService_Version_FullMethodName {
				t.Errorf("%s: answer of %d bytes, request %v, %v", e.call.Method, len(e.answer), e.call.State, e.st)
			}
			if until := time.Until(e.call.Deadline); until <= 0 || until > within {
				t.Errorf("the deadline is in %v", until)
			}
		})
	}
	_, err := c.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: "sb"})
	if e := w.end(t); e.answer != nil || e.st.String() != status.Convert(err).String() || len(e.st.Details()) != 2 {
		t.Errorf("the watcher got %v %v, the client %v", e.st, e.st.Details(), err)
	}
	if calls := r.first(t).Calls(); len(calls) != 0 {
		t.Errorf("under way: %v", calls)
	}
	settled(t, r.first(t))
}

func TestMaximalMessageIsUnseen(t *testing.T) {
	f := newFakeRuntime(t)
	w := newWatcher()
	c := cri.NewRuntimeServiceClient(dial(t, newRelayed(t, f.listening, w).listening))
	if _, err := c.Version(t.Context(), &cri.VersionRequest{Version: strings.Repeat("v", maxMessage)}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Version(t.Context(), &cri.VersionRequest{Version: "small"}); err != nil {
		t.Fatal(err)
	}
	if e := w.end(t); e.call.State != 7 {
		t.Errorf("the first call that was seen has %v bytes", e.call.State)
	}
}
