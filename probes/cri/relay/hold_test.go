package relay

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// holder holds calls whose request has a word in it, until the test says how they go on.
type holder struct {
	*watcher
	held  chan *Call
	verb  chan error    // what the next hold returns
	given chan struct{} // a gate's context ended
}

func newHolder(word string) *holder {
	h := &holder{newWatcher(), make(chan *Call, 1000), make(chan error), make(chan struct{}, 1000)}
	h.gate = func(c *Call, message []byte) func(context.Context) error {
		if !bytes.Contains(message, []byte(word)) {
			return nil
		}
		return func(ctx context.Context) error {
			h.held <- c
			select {
			case err := <-h.verb:
				return err
			case <-ctx.Done():
				h.given <- struct{}{}
				return nil // a careless gate: the call must not be forwarded all the same
			}
		}
	}
	return h
}

// decide ends the next hold with an error, or nil.
func (h *holder) decide(t testing.TB, err error) {
	t.Helper()
	select {
	case h.verb <- err:
	case <-time.After(patience):
		t.Fatal("no call waits to be let go")
	}
}

// version calls Version with a request of a size, and returns its error later.
func version(ctx context.Context, c *grpc.ClientConn, word string, size int) chan error {
	done := make(chan error, 1)
	go func() {
		want := word + strings.Repeat("x", size)
		r, err := cri.NewRuntimeServiceClient(c).Version(ctx, &cri.VersionRequest{Version: want})
		if err == nil && r.Version != want {
			err = fmt.Errorf("another answer, of %d bytes", len(r.Version))
		}
		done <- err
	}()
	return done
}

func TestHoldOneWhileOthersPass(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	ctx := t.Context()
	web := version(ctx, c, "web", 20<<10)
	if k := await(t, h.held, "the hold"); k.Method != cri.RuntimeService_Version_FullMethodName || k.State == nil {
		t.Errorf("held: %+v", k)
	}
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			for range 125 {
				if err := <-version(ctx, c, "other", 64<<10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	others.Wait()
	if calls := r.first(t).Calls(); len(calls) != 1 || len(web) != 0 {
		t.Errorf("under way: %v; the held call returned %d", calls, len(web))
	}
	h.decide(t, nil)
	if err := await(t, web, "the held call"); err != nil {
		t.Error(err)
	}
	settled(t, r.first(t))
}

// TestRuntimeLeavesWhileHeld: a runtime that ends in order waits for the calls under way. So a held call goes on
// then.
func TestRuntimeLeavesWhileHeld(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	ctx := t.Context()
	web := version(ctx, dial(t, r.listening), "web", 20<<10)
	await(t, h.held, "the hold")
	stopped := make(chan struct{})
	go func() { f.server.GracefulStop(); close(stopped) }()
	await(t, h.given, "the end of the hold")
	if err := await(t, web, "the call that was held"); err != nil {
		t.Error(err)
	}
	<-stopped
}

func TestHoldManyLarge(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	var all []chan error
	for i := range 50 {
		all = append(all, version(t.Context(), c, "web", 1<<20+i))
		await(t, h.held, "a hold")
	}
	if err := await(t, version(t.Context(), c, "other", 2<<20), "another call"); err != nil {
		t.Error(err)
	}
	for range all {
		h.decide(t, nil)
	}
	for _, done := range all {
		if err := await(t, done, "a held call"); err != nil {
			t.Error(err)
		}
	}
	settled(t, r.first(t))
}

// TestHoldMoreThanIsKept: beyond the bound calls go on unseen, and none is lost.
func TestHoldMoreThanIsKept(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	const n, size = 6, 15 << 20
	done := make(chan error, n)
	for range n {
		go func() { done <- <-version(t.Context(), c, "web", size) }()
	}
	const fit = maxKept / size
	for range fit {
		await(t, h.held, "a hold")
	}
	for range n - fit {
		if err := await(t, done, "a call that is not kept"); err != nil {
			t.Error(err)
		}
	}
	for range fit {
		h.decide(t, nil)
	}
	for range fit {
		if err := await(t, done, "a held call"); err != nil {
			t.Error(err)
		}
	}
	settled(t, r.first(t))
}

func TestRefuse(t *testing.T) {
	detailed, err := status.New(codes.ResourceExhausted, "no room: 100%\nfor ü").WithDetails(wrapperspb.String(strings.Repeat("why ", 10<<10)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		err  error
		want *status.Status
	}{
		{"plain", fmt.Errorf("broken"), status.New(codes.Unknown, "broken")},
		{"status", status.Error(codes.NotFound, "gone"), status.New(codes.NotFound, "gone")},
		{"details", detailed.Err(), detailed},
		{"context", context.DeadlineExceeded, status.New(codes.DeadlineExceeded, context.DeadlineExceeded.Error())},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, h := newFakeRuntime(t), newHolder("web")
			r := newRelayed(t, f.listening, h)
			c := dial(t, r.listening)
			for range 3 { // with others before and behind, which share the header compression
				for i := range 20 {
					if err := await(t, version(t.Context(), c, "other", i*1000), "another call"); err != nil {
						t.Fatal(err)
					}
					h.end(t)
				}
				done := version(t.Context(), c, "web", 20<<10)
				await(t, h.held, "the hold")
				h.decide(t, tt.err)
				if got := status.Convert(await(t, done, "the held call")); got.Proto().String() != tt.want.Proto().String() {
					t.Errorf("the client got %.300v", got.Proto())
				}
				if e := h.end(t); e.answer != nil || e.st.Proto().String() != tt.want.Proto().String() {
					t.Errorf("the watcher got %.300v", e.st.Proto())
				}
			}
			if f.saw("web" + strings.Repeat("x", 20<<10)) {
				t.Error("the runtime saw the call")
			}
			settled(t, r.first(t))
		})
	}
}

func TestClientGivesUpWhileHeld(t *testing.T) {
	for _, tt := range []struct {
		name string
		give func(cancel func(), c *grpc.ClientConn)
		want codes.Code
	}{
		{"cancel", func(cancel func(), _ *grpc.ClientConn) { cancel() }, codes.Canceled},
		{"connection", func(_ func(), c *grpc.ClientConn) { c.Close() }, codes.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, h := newFakeRuntime(t), newHolder("web")
			r := newRelayed(t, f.listening, h)
			c := dial(t, r.listening)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := version(ctx, c, "web", 300<<10)
			await(t, h.held, "the hold")
			tt.give(cancel, c)
			await(t, h.given, "the end of the gate's context")
			if got := status.Code(await(t, done, "the held call")); got != tt.want {
				t.Errorf("the client has %v", got)
			}
			if e := h.end(t); e.st.Code() != tt.want && e.st.Code() != codes.Unavailable {
				t.Errorf("the watcher got %v", e.st)
			}
			other := dial(t, r.listening)
			if err := await(t, version(t.Context(), other, "other", 1), "another call"); err != nil {
				t.Error(err)
			}
			if f.saw("web" + strings.Repeat("x", 300<<10)) {
				t.Error("the runtime saw the call")
			}
			settled(t, r.first(t))
		})
	}
}

// TestWindowComesBack: a call that was given up or refused leaves none of its kept bytes missing in the
// connection's window.
func TestWindowComesBack(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		done := version(ctx, c, "web", 30<<10)
		await(t, h.held, "the hold")
		if i%2 == 0 {
			cancel()
		} else {
			h.decide(t, status.Error(codes.Aborted, "no"))
		}
		if err := await(t, done, "the held call"); err == nil {
			t.Error("a call that was not forwarded was answered")
		}
		h.end(t)
		cancel()
	}
	if err := await(t, version(t.Context(), c, "other", 5<<20), "another call"); err != nil {
		t.Error(err)
	}
	h.end(t)
	settled(t, r.first(t))
}

func TestDeadlineWhileHeld(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	if err := await(t, version(t.Context(), c, "other", 1), "a call"); err != nil {
		t.Fatal(err) // connect first: the deadline is for the call
	}
	h.end(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	done := version(ctx, c, "web", 0)
	await(t, h.given, "the end of the gate's context")
	if got := status.Code(await(t, done, "the held call")); got != codes.DeadlineExceeded {
		t.Errorf("the client has %v", got)
	}
	if e := h.end(t); e.st.Code() != codes.DeadlineExceeded {
		t.Errorf("the watcher got %v", e.st)
	}
	if err := await(t, version(t.Context(), c, "other", 1), "another call"); err != nil {
		t.Error(err)
	}
	if f.saw("web") {
		t.Error("the runtime saw the call")
	}
}

func TestRuntimeDiesMidCall(t *testing.T) {
	f, h := newFakeRuntime(t), newHolder("web")
	r := newRelayed(t, f.listening, h)
	c := dial(t, r.listening)
	running := make(chan error, 1)
	go func() {
		_, err := cri.NewRuntimeServiceClient(c).RunPodSandbox(t.Context(), &cri.RunPodSandboxRequest{RuntimeHandler: "a"})
		running <- err
	}()
	await(t, channel(f, f.begun, "a"), "the call")
	held := version(t.Context(), c, "web", 1)
	await(t, h.held, "the hold")
	r.first(t).runtime.Close()
	for _, done := range []chan error{running, held} {
		if got := status.Code(await(t, done, "a call")); got != codes.Unavailable {
			t.Errorf("the client has %v", got)
		}
		if e := h.end(t); e.st.Code() != codes.Unavailable {
			t.Errorf("the watcher got %v", e.st)
		}
	}
	await(t, h.given, "the end of the gate's context")
	if err := await(t, version(t.Context(), c, "other", 1), "a call on a new connection"); err != nil {
		t.Error(err)
	}
}
