package relay

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestResetCodes: when the runtime resets a call, the watcher gets the status that the client sees.
func TestResetCodes(t *testing.T) {
	w := newWatcher()
	client, runtime, _ := silent(t, w)
	c, err := grpc.NewClient("passthrough:///runtime", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return client.conn, nil }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var code atomic.Uint32
	go resetAll(runtime, &code)
	for i := range uint32(lastResetCode + 3) {
		code.Store(i)
		_, err := cri.NewRuntimeServiceClient(c).Version(t.Context(), &cri.VersionRequest{Version: "x"})
		reported := w.end(t).st
		if http2.ErrCode(i) == http2.ErrCodeRefusedStream {
			reported = w.end(t).st // a client makes a call that was not begun once more
		}
		if status.Code(err) != reported.Code() {
			t.Errorf("reset with %v: the client has %v, the watcher got %v", http2.ErrCode(i), err, reported)
		}
	}
}

// resetAll is a runtime that resets each call.
func resetAll(p *peer, code *atomic.Uint32) {
	if _, err := io.ReadFull(p.conn, make([]byte, len(preface))); err != nil {
		return
	}
	err := p.WriteSettings()
	for err == nil {
		var f http2.Frame
		if f, err = p.ReadFrame(); err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				err = p.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				err = p.WriteRSTStream(f.StreamID, http2.ErrCode(code.Load()))
			}
		}
	}
}

// TestDeadlineOrGivenUp: the client's deadline is a little before the one that is known here.
func TestDeadlineOrGivenUp(t *testing.T) {
	deadline := time.Now()
	for _, tt := range []struct {
		name     string
		deadline time.Time
		at       time.Time
		want     codes.Code
	}{
		{"no deadline", time.Time{}, deadline, codes.Canceled},
		{"long before", deadline, deadline.Add(-time.Second), codes.Canceled},
		{"before", deadline, deadline.Add(-slack - 1), codes.Canceled},
		{"by the client's clock", deadline, deadline.Add(-slack), codes.DeadlineExceeded},
		{"after", deadline, deadline.Add(1), codes.DeadlineExceeded},
	} {
		for _, by := range []string{"client", "runtime"} {
			if got := resetStatus(by, resetCancel, tt.deadline, tt.at); got.Code() != tt.want {
				t.Errorf("%s: reset by the %s it is %v, want %v", tt.name, by, got, tt.want)
			}
		}
	}
}

// TestWhoseConnectionEnded: the side that went first is named, not the one that
// went because of that.
func TestWhoseConnectionEnded(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		end        func(client, runtime *peer, c *Conn)
	}{
		{"the client", "the client's connection ended", func(client, runtime *peer, _ *Conn) {
			client.conn.Close()
			if f, err := runtime.ReadFrame(); err != io.EOF {
				t.Errorf("the client's end: %v, %v", f, err)
			}
			runtime.conn.Close()
		}},
		{"the runtime", "the runtime's connection ended", func(_, runtime *peer, _ *Conn) { runtime.conn.Close() }},
		{"from here", "the connection ended", func(_, _ *peer, c *Conn) { c.Close() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatcher()
			client, runtime, c := begin(t, w)
			client.headers(1, false, ":path", aMethod)
			client.must(client.WriteData(1, true, message("x")))
			next[*http2.DataFrame](runtime)
			tt.end(client, runtime, c)
			if e := w.end(t); e.st.Code() != codes.Unavailable || e.st.Message() != tt.want {
				t.Errorf("the watcher got %v, want %s", e.st, tt.want)
			}
		})
	}
}

// TestWhoTakesNoMore: that a side has closed may show first in a failing write to it.
func TestWhoTakesNoMore(t *testing.T) {
	a, b := pair(t)
	d, e := pair(t)
	c := New(b, d, nil)
	a.Close()
	if _, err := e.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if gone := c.down.run(); gone != theClient {
		t.Errorf("it is the %s", gone)
	}
}

// TestCallsOfClientThatIsGone: a client that is gone waits for no calls, but a client that has only sent all it has
// to send does.
func TestCallsOfClientThatIsGone(t *testing.T) {
	client, runtime, c := begin(t, newWatcher())
	client.headers(1, false, ":path", aMethod)
	client.must(client.WriteData(1, true, message("x")))
	next[*http2.DataFrame](runtime)
	client.conn.CloseWrite()
	if _, err := runtime.ReadFrame(); err != io.EOF {
		t.Fatalf("the client's end: %v", err)
	}
	if calls := c.Calls(); len(calls) != 1 {
		t.Errorf("under way: %v", calls)
	}
	client.conn.Close()
	if calls := c.Calls(); len(calls) != 0 {
		t.Errorf("under way for nobody: %v", calls)
	}
}

// TestGoAwayOnce: a client that the runtime has asked to go is not asked again:
// to name a later call than the runtime did would be an error.
func TestGoAwayOnce(t *testing.T) {
	var all bytes.Buffer
	f := http2.NewFramer(&all, nil)
	f.WriteSettings()
	n := all.Len()
	f.WriteGoAway(3, http2.ErrCodeNo, nil)
	settings, goAway := all.Bytes()[:n:n], all.Bytes()[n:]
	for _, tt := range []struct {
		name string
		play func(r *going)
		want []uint32
	}{
		{"from here", func(r *going) { r.send(settings); r.c.Drain(); r.c.Drain() }, []uint32{maxStreamID}},
		{"by the runtime", func(r *going) { r.send(settings); r.send(goAway); r.c.Drain() }, []uint32{3}},
		{"by the runtime before it could be", func(r *going) { r.c.Drain(); r.send(all.Bytes()) }, []uint32{3}},
		{"from here, then by the runtime", func(r *going) { r.send(settings); r.c.Drain(); r.send(goAway) }, []uint32{maxStreamID, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, runtime, c := silent(t, newWatcher())
			client.conn.Write([]byte(preface))
			r := &going{client: client, runtime: runtime, c: c}
			tt.play(r)
			r.receive()
			if !slices.Equal(r.received, tt.want) {
				t.Errorf("the client was asked to go after %v, want %v", r.received, tt.want)
			}
		})
	}
}

// going is a connection whose client is asked to go.
type going struct {
	client, runtime *peer
	c               *Conn
	spoke           bool
	received        []uint32 // the last calls that the client knows of
}

// send makes the runtime send b, when the client has received all that was sent before.
func (r *going) send(b []byte) {
	r.client.t.Helper()
	if r.spoke {
		r.receive()
	}
	r.spoke = true
	_, err := r.runtime.conn.Write(b)
	r.client.must(err)
	r.receive()
}

// receive reads until there is no more.
func (r *going) receive() {
	r.client.t.Helper()
	_, err := r.c.toClient.flush(r.c.moreToClient)
	r.client.must(err)
	r.client.must(r.runtime.WritePing(false, [8]byte{}))
	for {
		f, err := r.client.ReadFrame()
		r.client.must(err)
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			r.received = append(r.received, f.LastStreamID)
		case *http2.PingFrame:
			return
		}
	}
}
