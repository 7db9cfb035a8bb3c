package takeover

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// mixedConn is a connection whose first bytes were read already.
type mixedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c mixedConn) Read(b []byte) (int, error) { return c.r.Read(b) }

// handed is a listener whose connections another one accepted.
type handed struct {
	net.Listener
	conns chan net.Conn
}

func (h handed) Accept() (net.Conn, error) {
	if c, ok := <-h.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

// playCRIO is a runtime that serves gRPC and HTTP/1.1 on one socket. The answer to a
// request takes half a second.
func playCRIO(args []string) error {
	if err := os.WriteFile("/proc/self/comm", []byte("crio"), 0); err != nil {
		return err
	}
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	calls, requests := handed{l, make(chan net.Conn)}, handed{l, make(chan net.Conn)}
	go newServer().Serve(calls)
	go http.Serve(requests, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(500 * time.Millisecond)
		_, _ = io.WriteString(w, "the answer")
	}))
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				m := mixedConn{c, bufio.NewReader(c)}
				to := requests.conns
				if first, _ := m.r.Peek(3); string(first) == "PRI" {
					to = calls.conns
				}
				to <- m
			}()
		}
	}()
	fmt.Println("ready")
	untilStdinEnds()
	return nil
}

// playBoth is a kubelet with cAdvisor in it: it makes a call now and then, and asks
// in HTTP/1.1 all the time, over a connection that stays.
func playBoth(args []string) error {
	c, err := grpc.NewClient("unix:"+args[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer c.Close()
	var problem atomic.Value
	problem.Store("")
	call := func() {
		if err := c.Invoke(context.Background(), methodEcho, wrapperspb.String("x"), &wrapperspb.StringValue{}); err != nil {
			problem.Store(err.Error())
		}
	}
	dials := atomic.Int64{}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "unix", args[0])
	}}}
	ask := func() {
		r, err := client.Get("http://runtime/info")
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
		if err != nil {
			problem.Store(err.Error())
		}
	}
	call()
	ask()
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			call()
		}
	}()
	go func() {
		for {
			ask()
		}
	}()
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(dials.Load(), problem.Load())
	}
	return nil
}

// TestMixed: if a runtime speaks HTTP/1.1 too, only the kubelet's calls come over. A request under way gets its
// answer, and its connection stays.
func TestMixed(t *testing.T) {
	needRoot(t)
	s := newSetup(t)
	play(t, "crio", s.path)
	kubelet := play(t, "both", s.path)
	tk := s.take(t, func(o *Options) {
		o.Kubelet = func(pid int) bool { return pid == kubelet.pid() }
		o.ForceAfter = time.Millisecond // which is for connections that are known
	})
	start := time.Now()
	until(t, "calls come through us", func() bool { return s.relay.bytes.Load() > 1000 })
	t.Logf("calls come through us after %s", time.Since(start))
	until(t, "nothing is waited for", func() bool {
		left, err := tk.Came(t.Context())
		return err == nil && len(left) == 0
	})
	time.Sleep(time.Second) // a request or two more
	if got := kubelet.ask("report"); got != "1" {
		t.Errorf("connections for requests, and what went wrong: %s, want 1 and nothing", got)
	}
	if got := s.relay.conns.Load(); got != 1 {
		t.Errorf("%d connections came to us, want that of the calls", got)
	}
}

// TestJudge: the beginning of a frame or of a request shows what a client speaks; other bytes show nothing.
func TestJudge(t *testing.T) {
	frame := func(kind byte, stream byte) string {
		return string([]byte{0, 0, 8, kind, 0, 0, 0, 0, stream}) + "payload"
	}
	for text, want := range map[string]speech{
		"":                                 unseen,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": speaksGRPC,
		frame(0, 1):                        speaksGRPC,
		frame(1, 7):                        speaksGRPC,
		frame(4, 0):                        speaksGRPC,
		frame(8, 0):                        speaksGRPC,
		frame(8, 3):                        speaksGRPC,
		frame(0, 0):                        unseen,
		frame(6, 1):                        unseen,
		frame(42, 1):                       unseen,
		frame(1, 1)[:8]:                    unseen,
		strings.Repeat("\x00", 512):        unseen,
		"GET /info HTTP/1.1\r\nHost: x":    speaksElse,
		"POST /v1.24/x HTTP/1.0\r\n":       speaksElse,
		"GET the kettle":                   unseen,
		"a\r\nGET / HTTP/1.1\r\n":          unseen,
	} {
		if got := judge([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
