package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/status"
)

// FuzzRelay: whatever the two sides send, nothing panics or hangs, each call that the watcher got has an end, and
// calls that it does not want arrive as they were sent.
func FuzzRelay(f *testing.F) {
	up, down := story(f)
	for _, watched := range []bool{false, true} {
		f.Add(up, down, watched, uint16(0))
		f.Add(up, down, watched, uint16(11))
		f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 400 no\r\n"), watched, uint16(1))
		f.Add([]byte(preface), []byte("\x00\x00\x06\x04"), watched, uint16(3))
	}
	f.Fuzz(func(t *testing.T, up, down []byte, watched bool, cut uint16) {
		w := &fuzzWatcher{watched: watched}
		client, runtime, c, runs := relaying(t, w)
		var gotUp, gotDown []byte
		var all sync.WaitGroup
		all.Go(func() { send(client.conn, up, int(cut)) })
		all.Go(func() { send(runtime.conn, down, int(cut)) })
		all.Go(func() { gotUp = receive(t, runtime.conn) })
		all.Go(func() { gotDown = receive(t, client.conn) })
		all.Wait()
		await(t, runs, "the end of the relay")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.owed.Wait()
		}()
		await(t, ended, "the end of each call")
		if c.err != nil && strings.Contains(c.err.Error(), "panic") {
			t.Error(c.err)
		}
		if !watched && (!bytes.Equal(gotUp, up) || !bytes.Equal(gotDown, down)) {
			t.Errorf("up %x became %x, down %x became %x", up, gotUp, down, gotDown)
		}
	})
}

func send(c *net.UnixConn, b []byte, cut int) {
	if cut > 0 && cut < len(b) {
		c.Write(b[:cut])
		b = b[cut:]
	}
	c.Write(b)
	c.CloseWrite()
}

func receive(t *testing.T, c *net.UnixConn) []byte {
	b, err := io.ReadAll(c)
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		t.Error("the relay hangs")
	}
	return b
}

// fuzzWatcher lets, holds or refuses a call as its message begins.
type fuzzWatcher struct {
	watched bool
	owed    sync.WaitGroup // ends
}

func (w *fuzzWatcher) End(*Call, []byte, *status.Status, time.Time) { w.owed.Done() }

func (w *fuzzWatcher) Passed() {}

func (w *fuzzWatcher) Wants(string) bool { return w.watched }

func (w *fuzzWatcher) Request(_ *Call, message []byte) func(context.Context) error {
	w.owed.Add(1)
	switch {
	case len(message) == 0:
		return nil
	case message[0]%3 == 0:
		return func(context.Context) error { return errors.New("no") }
	case message[0]%3 == 1:
		return func(context.Context) error { return nil }
	}
	return nil
}

func FuzzHeaderValues(f *testing.F) {
	for _, s := range []string{"", "1S", "99999999H", "%", "%2", "%zz%41", "ü\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d := parseTimeout(s); d < -1 {
			t.Errorf("timeout %q is %d", s, d)
		}
		unescape(s)
		if back := unescape(escape(s)); back != s {
			t.Errorf("%q became %q", s, back)
		}
	})
}

// FuzzMessage: an answer is gathered whole however it is cut.
func FuzzMessage(f *testing.F) {
	f.Add(message("hello"), 3)
	f.Add([]byte{1, 0, 0, 0, 2, 0x1f, 0x8b}, 6)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		var once, twice answer
		once.encoding, twice.encoding = "gzip", "gzip"
		once.add(b, maxKept)
		if cut < 0 || cut > len(b) {
			cut = 0
		}
		room := twice.add(b[:cut], maxKept)
		room += twice.add(b[cut:], maxKept)
		if !bytes.Equal(once.message(), twice.message()) || room != int64(len(twice.bytes)) {
			t.Errorf("whole %x, cut %x, room %d", once.message(), twice.message(), room)
		}
	})
}

// TestPaddedRequest: the padding of a request that is kept back is not forwarded, and no window is lost by it.
func TestPaddedRequest(t *testing.T) {
	h := newHolder("web")
	client, runtime, c := begin(t, h)
	client.headers(1, false, ":path", aMethod)
	m := message("web and more")
	client.must(client.WriteDataPadded(1, false, m[:4], make([]byte, 200)))
	client.must(client.WriteDataPadded(1, true, m[4:], nil))
	await(t, h.held, "the hold")
	h.decide(t, nil)
	if f := next[*http2.DataFrame](runtime); !bytes.Equal(f.Data(), m) || !f.StreamEnded() {
		t.Errorf("%q", f.Data())
	}
	for granted := uint32(0); granted < 2*201; {
		granted += next[*http2.WindowUpdateFrame](client).Increment // on the stream and the connection
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if got, want := c.account.clientWindow(), int64(firstWindow-len(m)); got != want {
		t.Errorf("the client's window is %d, not %d", got, want)
	}
}
