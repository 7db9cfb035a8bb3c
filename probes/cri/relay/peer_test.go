package relay

import (
	"bytes"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
)

// pair returns the two ends of a connection.
func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	end := func(fd int) *net.UnixConn {
		f := os.NewFile(uintptr(fd), "")
		defer f.Close()
		c, err := net.FileConn(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c.(*net.UnixConn)
	}
	return end(fds[0]), end(fds[1])
}

// peer is one side of a relayed connection, in the test's hands.
type peer struct {
	t    testing.TB
	conn *net.UnixConn
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	decoder *hpack.Decoder
}

func newPeer(t testing.TB, c *net.UnixConn) *peer {
	c.SetDeadline(time.Now().Add(patience))
	p := &peer{t: t, conn: c, Framer: http2.NewFramer(c, c), decoder: hpack.NewDecoder(4096, nil)}
	p.encoder = hpack.NewEncoder(&p.block)
	p.AllowIllegalWrites, p.AllowIllegalReads = true, true
	return p
}

// encode returns a header block of names and values.
func (p *peer) encode(pairs ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		p.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(p.block.Bytes())
}

func (p *peer) headers(stream uint32, end bool, pairs ...string) {
	p.t.Helper()
	b := p.encode(pairs...)
	first := b[:min(len(b), minMaxFrame)]
	b = b[len(first):]
	p.must(p.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: first, EndStream: end, EndHeaders: len(b) == 0}))
	for len(b) > 0 {
		more := b[:min(len(b), minMaxFrame)]
		b = b[len(more):]
		p.must(p.WriteContinuation(stream, len(b) == 0, more))
	}
}

func (p *peer) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// next reads until a frame of a kind.
func next[T http2.Frame](p *peer) T {
	p.t.Helper()
	for {
		f, err := p.ReadFrame()
		if err != nil {
			p.t.Fatalf("read a %T: %v", *new(T), err)
		}
		if f, ok := f.(T); ok {
			return f
		}
	}
}

// fields reads the next header block.
func (p *peer) fields() (stream uint32, fields map[string]string) {
	p.t.Helper()
	f := next[*http2.HeadersFrame](p)
	block, done := bytes.Clone(f.HeaderBlockFragment()), f.HeadersEnded()
	for !done {
		c := next[*http2.ContinuationFrame](p)
		block, done = append(block, c.HeaderBlockFragment()...), c.HeadersEnded()
	}
	all, err := p.decoder.DecodeFull(block)
	p.must(err)
	fields = map[string]string{}
	for _, h := range all {
		fields[h.Name] = h.Value
	}
	return f.StreamID, fields
}

// begin greets, and relays between two peers.
func begin(t testing.TB, w Watcher, settings ...http2.Setting) (client, runtime *peer, c *Conn) {
	t.Helper()
	client, runtime, c = silent(t, w)
	client.conn.Write([]byte(preface))
	client.must(client.WriteSettings())
	got := make([]byte, len(preface))
	if _, err := runtime.conn.Read(got); err != nil || string(got) != preface {
		t.Fatalf("preface: %q, %v", got, err)
	}
	runtime.must(runtime.WriteSettings(settings...))
	next[*http2.SettingsFrame](client)
	next[*http2.SettingsFrame](runtime)
	return client, runtime, c
}

// silent relays between two peers that have not sent anything.
func silent(t testing.TB, w Watcher) (client, runtime *peer, c *Conn) {
	t.Helper()
	client, runtime, c, _ = relaying(t, w)
	return client, runtime, c
}

// relaying is silent with a channel that is closed when the relay has ended.
func relaying(t testing.TB, w Watcher) (client, runtime *peer, c *Conn, ended chan struct{}) {
	t.Helper()
	a, b := pair(t)
	d, e := pair(t)
	c = New(b, d, w)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run() //nolint:errcheck // the test looks at c
	}()
	t.Cleanup(func() {
		c.Close()
		await(t, done, "the end of the relay")
	})
	return newPeer(t, a), newPeer(t, e), c, done
}

// message returns a gRPC message as on the wire.
func message(b string) []byte {
	n := len(b)
	return append([]byte{0, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, b...)
}
