package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var about = &agentpb.InfoResponse{
	Version: "v0.1.0", KubeletVersion: "v1.36.3", Probes: []*agentpb.Probe{{Name: "woven"}},
	Steps:      []*agentpb.Step{{Name: "sync.pod", Stage: "syncpod"}, {Name: "cri.runpodsandbox", Stage: "cri"}},
	Goroutines: []string{"", "worker"},
}

// fake is an agent whose answers the test sets.
type fake struct {
	agentpb.UnimplementedAgentServer
	batches []*agentpb.Batch
	end     error
	info    error
	wait    chan struct{} // if not nil, Info answers when it is closed
}

func (f *fake) Info(context.Context, *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	if f.wait != nil {
		<-f.wait
	}
	return about, f.info
}

func (f *fake) Watch(_ *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	for _, b := range f.batches {
		if err := s.Send(b); err != nil {
			return err
		}
	}
	return f.end
}

func (f *fake) Hold(ctx context.Context, r *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	if f.end == nil {
		<-ctx.Done()
	}
	return nil, f.end
}

func serve(t *testing.T, a agentpb.AgentServer) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	agenttest.Serve(t, a, path)
	return path
}

func dial(t *testing.T, a agentpb.AgentServer) *Client {
	t.Helper()
	c, err := Dial(t.Context(), serve(t, a))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestWatchDecodes(t *testing.T) {
	c := dial(t, &fake{batches: []*agentpb.Batch{
		{
			Pods: []*agentpb.Pod{{Id: 7, Namespace: "default", Name: "web", Uid: "u1"}},
			Events: [][]byte{
				eventtest.Encode(&agentpb.Event{Seq: 1, Time: 1e18, Mono: 5, Kind: agentpb.Kind_ENTER, Step: 1, Pod: 7, Span: 3, Parent: 2, Sync: 4, Goroutine: 1,
					Fields: []*agentpb.Field{eventtest.Field("updateType", "create")}}),
				eventtest.Encode(&agentpb.Event{Seq: 2, Kind: agentpb.Kind_EXIT, Step: 2, Pod: 7, Error: "no", Duration: 9}),
			},
		},
		{
			CaughtUp: true,
			Events: [][]byte{
				eventtest.Encode(&agentpb.Event{Seq: 3, Kind: agentpb.Kind_DROP}),
				eventtest.Encode(&agentpb.Event{Seq: 4, Kind: agentpb.Kind_HOLD, Step: 99, Pod: 8, Goroutine: 99}),
				{0xff, 0xff},
				eventtest.Encode(&agentpb.Event{Seq: 5, Kind: 77, Pod: 7}),
			},
		},
	}})
	w, err := c.Watch(t.Context(), &agentpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := w.Next()
	if err != nil || first.CaughtUp || len(first.Events) != 2 {
		t.Fatalf("first batch %+v, %v", first, err)
	}
	got, _ := json.Marshal(first.Events[0])
	want := `{"seq":1,"time":` + quoted(time.Unix(0, 1e18)) + `,"kind":"enter","stage":"syncpod","step":"sync.pod","pod":{"namespace":"default","name":"web","uid":"u1"},"span":3,"parent":2,"sync":4,"goroutine":"worker","fields":{"updateType":"create"},"probe":"woven"}`
	if string(got) != want {
		t.Errorf("event\n%s, want\n%s", got, want)
	}
	if e := first.Events[1]; e.Kind != probes.Exit || e.Step != "cri.runpodsandbox" || e.Error != "no" || e.DurationNs != 9 || e.Pod != first.Events[0].Pod {
		t.Errorf("second event %+v", e)
	}
	second, err := w.Next()
	if err != nil || !second.CaughtUp || len(second.Events) != 4 {
		t.Fatalf("second batch %+v, %v", second, err)
	}
	if len(second.Raw.Events) != 4 || !second.Raw.CaughtUp {
		t.Errorf("the batch as it came: %v", second.Raw)
	}
	drop, strange, broken, later := second.Events[0], second.Events[1], second.Events[2], second.Events[3]
	if drop.Kind != probes.Drop || drop.Pod != nil || drop.Step != "" {
		t.Errorf("drop %+v", drop)
	}
	if strange.Pod == nil || strange.Pod.Name != "" || strange.Step != "step#99" || strange.Goroutine != "" {
		t.Errorf("an event with unknown numbers is %+v", strange)
	}
	if broken.Kind != probes.Drop || broken.Error == "" {
		t.Errorf("an unreadable event is %+v", broken)
	}
	if later.Kind != probes.Note || later.Pod.Name != "web" {
		t.Errorf("later event %+v", later)
	}
	if _, err := w.Next(); err != io.EOF {
		t.Errorf("end of the stream is %v", err)
	}
}

// closelyFake knows WatchClosely, and refuses it unless end is nil.
type closelyFake struct{ *fake }

func (f closelyFake) WatchClosely(_ *agentpb.WatchCloselyRequest, s grpc.ServerStreamingServer[agentpb.WatchCloselyResponse]) error {
	if f.end != nil {
		return f.end
	}
	if err := s.Send(&agentpb.WatchCloselyResponse{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// TestWatchClosely: an agent that knows the request answers or refuses it. One of before shows what it shows.
func TestWatchClosely(t *testing.T) {
	closely := func(a agentpb.AgentServer) error {
		return dial(t, a).WatchClosely(t.Context(), &agentpb.PodSelector{Name: "web"})
	}
	for name, a := range map[string]agentpb.AgentServer{"of before": &fake{}, "that knows it": closelyFake{&fake{}}} {
		if err := closely(a); err != nil {
			t.Errorf("an agent %s: %v", name, err)
		}
	}
	if err := closely(closelyFake{&fake{end: status.Error(codes.ResourceExhausted, "no")}}); err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("an agent that refuses it: %v", err)
	}
}

func TestWatchRaw(t *testing.T) {
	enter := eventtest.Encode(&agentpb.Event{Seq: 1, Kind: agentpb.Kind_ENTER, Pod: 7})
	c := dial(t, &fake{batches: []*agentpb.Batch{
		{Pods: []*agentpb.Pod{{Id: 7, Name: "web"}}, Events: [][]byte{enter}},
	}})
	w, err := c.Watch(t.Context(), &agentpb.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := w.NextRaw()
	if err != nil || len(raw.Events) != 1 || string(raw.Events[0]) != string(enter) {
		t.Fatalf("raw batch %v, %v", raw, err)
	}
	if _, err := w.NextRaw(); err != io.EOF {
		t.Errorf("end of the stream is %v", err)
	}
}

func quoted(t time.Time) string {
	b, _ := json.Marshal(t)
	return string(b)
}

func TestCallErrors(t *testing.T) {
	for _, c := range []struct {
		code codes.Code
		kind Kind
		text string
	}{
		{codes.InvalidArgument, Usage, "two pods match"},
		{codes.NotFound, Failed, "two pods match"},
		{codes.PermissionDenied, Denied, "two pods match"},
		{codes.Unavailable, NoAgent, "the connection to the agent broke (two pods match); has the kubelet stopped? see podstep doctor"},
	} {
		client := dial(t, &fake{end: status.Error(c.code, "two pods match")})
		_, unary := client.Hold(t.Context(), &agentpb.HoldRequest{})
		w, err := client.Watch(t.Context(), &agentpb.WatchRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, streamed := w.Next()
		for _, err := range []error{unary, streamed} {
			if KindOf(err) != c.kind || err.Error() != c.text {
				t.Errorf("%s is kind %d, %q; want %d, %q", c.code, KindOf(err), err, c.kind, c.text)
			}
		}
	}
}

// TestProblemWords: an error with a code has words in each language, whatever its
// message; one with a code of another version has its message.
func TestProblemWords(t *testing.T) {
	for code, want := range map[agentpb.Problem_Code]probes.Text{
		agentpb.Problem_READ_ONLY: reason.Problem(&agentpb.Problem{Code: agentpb.Problem_READ_ONLY}),
		9999:                      words.Same("as it came"),
	} {
		st, err := status.New(codes.PermissionDenied, "as it came").WithDetails(&agentpb.Problem{Code: code})
		if err != nil {
			t.Fatal(err)
		}
		_, err = dial(t, &fake{end: st.Err()}).Hold(t.Context(), &agentpb.HoldRequest{})
		if KindOf(err) != Denied || reason.CodeOf(err) != code || reason.Error(err) != want || err.Error() != want.En {
			t.Errorf("%s is kind %d, %q, with code %s", code, KindOf(err), reason.Error(err), reason.CodeOf(err))
		}
	}
}

func TestGivenUpCall(t *testing.T) {
	c := dial(t, &fake{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Hold(ctx, &agentpb.HoldRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up fails with %v", err)
	}
	w, err := c.Watch(ctx, &agentpb.WatchRequest{})
	if err == nil {
		_, err = w.Next()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that was given up fails with %v", err)
	}
}

func TestDialErrors(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path("stale"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	for _, c := range []struct {
		name, path string
		kind       Kind
		want       string
	}{
		{"missing", path("none"), NoAgent, "no agent at " + path("none") + ": is podstep-kubelet running?"},
		{"below a file", path("file/sock"), NoAgent, "no agent at"},
		{"file", path("file"), NoAgent, "not a socket but a file"},
		{"directory", dir, NoAgent, "not a socket but a directory"},
		{"stale", path("stale"), NoAgent, "left behind by an agent that is gone"},
		{"too long", path(strings.Repeat("x", 120)), Usage, "this system takes 107"},
		{"closes at once", listen(t, func(c net.Conn) { c.Close() }), NoAgent, "does not answer like an agent"},
		{"other protocol", listen(t, func(c net.Conn) { c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); c.Close() }), NoAgent, "does not answer like an agent"},
		{"refused", serve(t, &fake{info: status.Error(codes.PermissionDenied, "uid 7 may not")}), Denied, "uid 7 may not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Dial(t.Context(), c.path)
			if err == nil || KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
				t.Errorf("kind %d, %v; want %d, %q", KindOf(err), err, c.kind, c.want)
			}
		})
	}
}

func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			handle(conn)
		}
	}()
	return path
}

func TestForeignSocket(t *testing.T) {
	path := serve(t, &fake{})
	err := checkSocket(path, user{uid: os.Getuid() + 1, sudo: -1})
	if os.Getuid() == 0 {
		// Everybody trusts root's sockets. To see a refusal, give this one to another user.
		if err != nil {
			t.Fatalf("root's socket is refused: %v", err)
		}
		if err := os.Chown(path, 65534, -1); err != nil {
			t.Skip(err)
		}
		err = checkSocket(path, user{sudo: -1})
	}
	if KindOf(err) != Denied || !strings.Contains(err.Error(), "belongs to") {
		t.Errorf("somebody else's socket: %v", err)
	}
}

func TestDefaultSocket(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		uid  int
		want string
	}{
		{nil, 0, "/run/podstep/agent.sock"},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/0"}, 0, "/run/podstep/agent.sock"},
		{map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}, 7, "/run/user/7/podstep/agent.sock"},
		{nil, 7, "/run/podstep/agent.sock"},
		{map[string]string{"PODSTEP_SOCKET": "x.sock", "XDG_RUNTIME_DIR": "/run/user/7"}, 7, "x.sock"},
	} {
		if got := defaultSocket(func(k string) string { return c.env[k] }, c.uid); got != c.want {
			t.Errorf("default socket of uid %d with %v is %s, want %s", c.uid, c.env, got, c.want)
		}
	}
}
