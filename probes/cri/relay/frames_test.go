package relay

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const aMethod = "/runtime.v1.RuntimeService/Version"

// story is what a client and a runtime may send on a connection, of which a watcher is to see a part.
func story(t testing.TB) (client, runtime []byte) {
	write := func(send func(p *peer)) []byte {
		var out bytes.Buffer
		p := newPeer(t, mustPair(t))
		p.Framer = http2.NewFramer(&out, nil)
		p.AllowIllegalWrites = true
		send(p)
		return out.Bytes()
	}
	client = append([]byte(preface), write(func(p *peer) {
		p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 15})
		p.headers(1, false, ":path", aMethod, "grpc-timeout", "10S", "x", "y")
		p.WriteData(1, true, message("one"))
		long := p.encode(":path", aMethod, "x", "y", "long", strings.Repeat("z", 100))
		p.WriteHeaders(http2.HeadersFrameParam{StreamID: 3, BlockFragment: long[:5], PadLength: 7, Priority: http2.PriorityParam{StreamDep: 1, Weight: 3}})
		p.WriteContinuation(3, false, long[5:20])
		p.WriteContinuation(3, true, long[20:])
		p.WriteData(3, true, message("three"))
		p.headers(7, false, ":path", "/test.Raw/Echo")
		p.WriteDataPadded(7, true, message("seven"), make([]byte, 9))
		p.WritePing(false, [8]byte{1})
		p.headers(5, false, ":path", aMethod)
		p.WriteRSTStream(5, http2.ErrCodeCancel)
		p.WriteRawFrame(0xfe, 1, 77, []byte("unheard of"))
		p.WriteWindowUpdate(0, 1000)
	})...)
	runtime = write(func(p *peer) {
		p.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 9})
		p.WriteSettingsAck()
		p.headers(1, false, ":status", "200", "k", "v")
		p.WriteDataPadded(1, false, message("answer"), make([]byte, 3))
		p.headers(1, true, "grpc-status", "0")
		p.WriteData(3, false, message(strings.Repeat("large", 5000)))
		p.headers(3, true, "grpc-status", "5", "grpc-message", "not%20here")
		p.WritePing(true, [8]byte{1})
		p.WriteGoAway(3, http2.ErrCodeNo, []byte("bye"))
	})
	return client, runtime
}

func mustPair(t testing.TB) *net.UnixConn {
	a, _ := pair(t)
	return a
}

// TestSplits: in whatever pieces bytes come, the same bytes come out at the other side, and the watcher sees the
// same.
func TestSplits(t *testing.T) {
	up, down := story(t)
	cuts := []int{1, 2, 3, 5, 7, 8, 9, 10, 13, 24, 25, 33, 64, 1 << 20}
	for at := range len(up) {
		cuts = append(cuts, -at)
	}
	for _, cut := range cuts {
		w := newWatcher()
		client, runtime, _ := silent(t, w)
		gotUp, gotDown := make(chan []byte, 1), make(chan []byte, 1)
		go collect(runtime.conn, len(up), gotUp)
		write(t, client.conn, up, cut)
		if got := await(t, gotUp, "what the client said"); !bytes.Equal(got, up) {
			t.Fatalf("cut at %d: the client's bytes changed at %d of %d", cut, differ(got, up), len(up))
		}
		go collect(client.conn, len(down), gotDown)
		write(t, runtime.conn, down, cut)
		if got := await(t, gotDown, "what the runtime said"); !bytes.Equal(got, down) {
			t.Fatalf("cut at %d: the runtime's bytes changed at %d of %d", cut, differ(got, down), len(down))
		}
		if e := w.end(t); string(e.answer) != "answer" || e.st.Code() != codes.OK || e.call.Deadline.Sub(e.call.Began) != 10e9 {
			t.Fatalf("cut at %d: %+v %v", cut, e, e.st)
		}
		if e := w.end(t); len(e.answer) != 25000 || e.st.Code() != codes.NotFound || e.st.Message() != "not here" || e.call.State != 5 {
			t.Fatalf("cut at %d: %+v %v", cut, e.call, e.st)
		}
		client.conn.Close()
		runtime.conn.Close()
	}
}

// write writes b in pieces: of n bytes, or, if n is negative, in two that are cut at -n.
func write(t *testing.T, c io.Writer, b []byte, n int) {
	for first := true; len(b) > 0; first = false {
		size := n
		if n <= 0 && first {
			size = -n
		} else if n <= 0 {
			size = len(b)
		}
		size = min(size, len(b))
		if _, err := c.Write(b[:size]); err != nil {
			t.Fatal(err)
		}
		b = b[size:]
	}
}

func collect(c io.Reader, n int, out chan<- []byte) {
	b := make([]byte, n)
	n, _ = io.ReadFull(c, b)
	out <- b[:n]
}

func differ(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestCompressionAfterRefusal: a runtime that answers a call which was already refused fills its table with that
// answer. Later blocks refer to it.
func TestCompressionAfterRefusal(t *testing.T) {
	h := newHolder("web")
	client, runtime, c := begin(t, h)
	client.headers(1, false, ":path", aMethod)
	client.must(client.WriteData(1, true, message("other")))
	runtime.headers(1, false, ":status", "200", "before", "1")
	if _, got := client.fields(); got["before"] != "1" {
		t.Fatalf("%v", got)
	}
	client.headers(3, false, ":path", aMethod)
	client.must(client.WriteData(3, false, message("web")))
	await(t, h.held, "the hold")
	h.decide(t, status.Error(codes.Aborted, "no"))
	if id, got := client.fields(); id != 3 || got["grpc-status"] != "10" || got[":status"] != "200" {
		t.Fatalf("%d %v", id, got)
	}
	if f := next[*http2.RSTStreamFrame](runtime); f.StreamID != 3 || f.ErrCode != http2.ErrCodeCancel {
		t.Fatalf("%v", f)
	}
	// Both sides go on sending for the call. Neither may receive it, nor lose window.
	client.must(client.WriteData(3, true, make([]byte, 77)))
	runtime.headers(3, false, ":status", "200", "late", "2")
	runtime.must(runtime.WriteData(3, false, make([]byte, 99)))
	runtime.headers(3, true, "grpc-status", "0", "later", "3")
	if f := next[*http2.WindowUpdateFrame](runtime); f.StreamID != 0 || f.Increment != 99 {
		t.Errorf("the runtime is granted %v", f)
	}
	runtime.headers(1, true, "grpc-status", "0", "late", "2", "later", "3", "before", "1", "new", strings.Repeat("n", 40000))
	granted := uint32(0)
	for {
		f, err := client.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := f.(*http2.WindowUpdateFrame); ok && w.StreamID == 0 {
			granted += w.Increment
			continue
		}
		first, ok := f.(*http2.HeadersFrame)
		if !ok || first.StreamID != 1 {
			t.Fatalf("the client got %v", f)
		}
		block, done := bytes.Clone(first.HeaderBlockFragment()), first.HeadersEnded()
		for !done {
			more := next[*http2.ContinuationFrame](client)
			block, done = append(block, more.HeaderBlockFragment()...), more.HeadersEnded()
		}
		fields, err := client.decoder.DecodeFull(block)
		if err != nil || len(fields) != 5 || fields[1].Value != "2" || fields[2].Value != "3" || fields[3].Value != "1" || len(fields[4].Value) != 40000 || !first.StreamEnded() {
			t.Errorf("%d fields, %v", len(fields), err)
		}
		break
	}
	client.must(client.WritePing(false, [8]byte{9}))
	if f := next[*http2.PingFrame](runtime); f.Data != [8]byte{9} {
		t.Error("another ping")
	}
	c.mu.Lock()
	left := c.account.clientWindow()
	c.mu.Unlock()
	if spent := firstWindow - int64(len(message("other"))) - left; granted < 77 && spent != 0 {
		t.Errorf("the client was granted %d, %d bytes of window are missing", granted, spent)
	}
}

// TestRefusalAfterHeaders: the runtime may have begun its answer.
func TestRefusalAfterHeaders(t *testing.T) {
	h := newHolder("web")
	client, runtime, _ := begin(t, h)
	client.headers(1, false, ":path", aMethod)
	client.must(client.WriteData(1, true, message("web")))
	await(t, h.held, "the hold")
	runtime.headers(1, false, ":status", "200")
	client.fields()
	h.decide(t, status.Error(codes.Aborted, "no"))
	if _, got := client.fields(); got["grpc-status"] != "10" || got[":status"] != "" {
		t.Errorf("%v", got)
	}
}

// TestReleaseMindsWindows: a message that was kept goes on only as far as the runtime has room, on the stream and
// on the connection.
func TestReleaseMindsWindows(t *testing.T) {
	h := newHolder("web")
	client, runtime, c := begin(t, h, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100})
	web := message("web" + strings.Repeat("x", 997))
	client.headers(1, false, ":path", aMethod)
	client.must(client.WriteData(1, false, web[:100]))
	if f := next[*http2.WindowUpdateFrame](client); f.StreamID != 1 || int(f.Increment) != len(web)-100 {
		t.Fatalf("the client is lent %v", f)
	}
	client.must(client.WriteData(1, true, web[100:]))
	await(t, h.held, "the hold")
	h.decide(t, nil)
	var got []byte
	read := func() *http2.DataFrame {
		f := next[*http2.DataFrame](runtime)
		got = append(got, f.Data()...)
		return f
	}
	if f := read(); len(f.Data()) != 100 || f.StreamEnded() {
		t.Fatalf("%v", f)
	}
	runtime.must(runtime.WriteWindowUpdate(1, 50))
	if f := read(); len(f.Data()) != 50 {
		t.Fatalf("%v", f)
	}
	runtime.must(runtime.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 300}))
	if f := read(); len(f.Data()) != 200 {
		t.Fatalf("%v", f)
	}
	runtime.must(runtime.WriteWindowUpdate(1, 1000))
	if f := read(); !f.StreamEnded() || !bytes.Equal(got, web) {
		t.Fatalf("%v: %d bytes of %d", f, len(got), len(web))
	}
	// 905 were lent. 50 are paid back, and 1000 less what the client had room for.
	runtime.must(runtime.WriteWindowUpdate(0, 5))
	for {
		f := next[*http2.WindowUpdateFrame](client)
		if f.StreamID == 0 {
			break
		}
		if f.Increment != 50+1000-905 {
			t.Errorf("the client is granted %d", f.Increment)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.calls[1]; k.debt != 0 || c.account.debt != 0 {
		t.Errorf("still owed: %d, %d", k.debt, c.account.debt)
	}
}

// TestConnectionWindow: a client to which much was lent sends more than the
// runtime takes.
func TestConnectionWindow(t *testing.T) {
	h := newHolder("web")
	client, runtime, _ := begin(t, h, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	web := message("web" + strings.Repeat("x", 59997))
	client.headers(1, false, ":path", aMethod)
	for b := web; len(b) > 0; b = b[min(len(b), minMaxFrame):] {
		client.must(client.WriteData(1, len(b) <= minMaxFrame, b[:min(len(b), minMaxFrame)]))
	}
	for lent := 0; lent < 44000; {
		f := next[*http2.WindowUpdateFrame](client)
		if f.StreamID != 0 {
			t.Fatalf("%v", f)
		}
		lent += int(f.Increment)
	}
	await(t, h.held, "the hold")
	client.headers(3, false, ":path", "/unary/other")
	rest := 40000
	for ; rest > 0; rest -= 10000 {
		client.must(client.WriteData(3, false, make([]byte, 10000)))
	}
	total := 0
	for total < 40000 {
		total += len(next[*http2.DataFrame](runtime).Data())
	}
	h.decide(t, nil)
	for total < firstWindow {
		total += len(next[*http2.DataFrame](runtime).Data())
	}
	if total != firstWindow {
		t.Fatalf("%d bytes came, the window is %d", total, firstWindow)
	}
	client.must(client.WritePing(false, [8]byte{9}))
	if f, err := runtime.ReadFrame(); err != nil || f.Header().Type != http2.FramePing {
		t.Fatalf("beyond the window came %v, %v", f, err)
	}
	runtime.must(runtime.WriteWindowUpdate(0, firstWindow))
	for total < 40000+len(web) {
		total += len(next[*http2.DataFrame](runtime).Data())
	}
}

// TestNotHTTP2: whichever side sends first, and however little, it goes on at once.
func TestNotHTTP2(t *testing.T) {
	for name, tt := range map[string]struct {
		w     Watcher
		drain bool // from the beginning
	}{"watched": {newWatcher(), false}, "bytes": {nil, false}, "late": {newWatcher(), true}} {
		t.Run(name, func(t *testing.T) {
			client, runtime, c := silent(t, tt.w)
			if tt.drain {
				c.Drain()
			}
			send := func(from, to *peer, what string) {
				t.Helper()
				got := make([]byte, len(what))
				from.conn.Write([]byte(what))
				if _, err := io.ReadFull(to.conn, got); err != nil || string(got) != what {
					t.Fatalf("%q became %q, %v", what, got, err)
				}
			}
			send(runtime, client, "\x00\x00")
			send(runtime, client, "2 ready\n")
			send(client, runtime, "P")
			send(client, runtime, "RI")
			send(client, runtime, "NT this\n")
			send(runtime, client, "done\n")
			c.Drain()
			client.conn.CloseWrite()
			if _, err := runtime.conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the client's end: %v", err)
			}
			send(runtime, client, "after your end\n")
			runtime.conn.Close()
			if _, err := client.conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the runtime's end: %v", err)
			}
		})
	}
}

// TestUnknownFrames: bytes that break HTTP/2 do not break the connection, if nothing is kept back.
func TestUnknownFrames(t *testing.T) {
	odd := map[string][]byte{
		"too large a frame":      {0xff, 0, 0, frameData, 0, 0, 0, 0, 1, 7, 7},
		"settings of five bytes": {0, 0, 5, frameSettings, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5},
		"broken compression in two frames": {
			0, 0, 1, frameHeaders, 0, 0, 0, 0, 9, 0x88, 0, 0, 1, frameContinuation, flagEndHeaders, 0, 0, 0, 9, 0xff,
		},
		"half a header block": {0, 0, 1, frameHeaders, 0, 0, 0, 0, 9, 0x88, 0, 0, 0, frameData, 0, 0, 0, 0, 9},
		"broken compression":  {0, 0, 1, frameHeaders, flagEndHeaders, 0, 0, 0, 9, 0xff},
		"too much padding":    {0, 0, 1, frameData, flagPadded, 0, 0, 0, 9, 5},
		"a short reset":       {0, 0, 1, frameReset, 0, 0, 0, 0, 9, 5},
	}
	for name, bytesOf := range odd {
		for _, way := range []string{"client", "runtime"} {
			t.Run(name+"/"+way, func(t *testing.T) {
				w := newWatcher()
				client, runtime, c := begin(t, w)
				client.headers(1, false, ":path", aMethod)
				client.must(client.WriteData(1, true, message("x")))
				next[*http2.DataFrame](runtime)
				from, to := client, runtime
				if way == "runtime" {
					from, to = runtime, client
				}
				from.conn.Write(bytesOf)
				got := make([]byte, len(bytesOf))
				if _, err := io.ReadFull(to.conn, got); err != nil || !bytes.Equal(got, bytesOf) {
					t.Fatalf("%x became %x, %v", bytesOf, got, err)
				}
				if e := w.end(t); e.st.Code() != codes.Unknown {
					t.Errorf("the watcher got %v", e.st)
				}
				if !c.isRaw() || c.Calls() == nil || len(c.Calls()) > 0 {
					t.Errorf("it is still looked at: %v", c.Calls())
				}
			})
		}
	}
}

// TestUnknownFramesWhileHeld: while a call is held, such a connection cannot go on.
func TestUnknownFramesWhileHeld(t *testing.T) {
	h := newHolder("web")
	client, runtime, _ := begin(t, h)
	client.headers(1, false, ":path", aMethod)
	client.must(client.WriteData(1, true, message("web")))
	await(t, h.held, "the hold")
	runtime.conn.Write([]byte{0, 0, 1, frameReset, 0, 0, 0, 0, 9, 5})
	if e := h.end(t); e.st.Code() != codes.Unavailable {
		t.Errorf("the watcher got %v", e.st)
	}
	if _, err := client.ReadFrame(); err == nil {
		t.Error("the connection goes on")
	}
}

func TestHalfClose(t *testing.T) {
	w := newWatcher()
	client, runtime, _ := begin(t, w)
	client.headers(1, false, ":path", aMethod)
	client.must(client.WriteData(1, true, message("x")))
	client.conn.CloseWrite()
	next[*http2.DataFrame](runtime)
	if _, err := runtime.ReadFrame(); err != io.EOF {
		t.Errorf("the client's end: %v", err)
	}
	runtime.headers(1, true, ":status", "200", "grpc-status", "0")
	if _, got := client.fields(); got["grpc-status"] != "0" {
		t.Errorf("%v", got)
	}
	if e := w.end(t); e.st.Code() != codes.OK {
		t.Errorf("the watcher got %v", e.st)
	}
	runtime.conn.CloseWrite()
	if _, err := client.ReadFrame(); err != io.EOF {
		t.Errorf("the runtime's end: %v", err)
	}
}

// TestLargeFrames: sides may agree on larger frames.
func TestLargeFrames(t *testing.T) {
	const size = 1 << 20
	client, runtime, _ := begin(t, newWatcher(), http2.Setting{ID: http2.SettingMaxFrameSize, Val: size})
	runtime.SetMaxReadFrameSize(size)
	client.headers(1, false, ":path", "/test.Raw/Echo")
	want := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	go client.WriteData(1, true, want)
	if f := next[*http2.DataFrame](runtime); !bytes.Equal(f.Data(), want) || !f.StreamEnded() {
		t.Errorf("%v", f)
	}
}
