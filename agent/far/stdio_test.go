package far

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// pair returns the two ends of a connection over a unix socket.
func pair(t *testing.T) (here, there *net.UnixConn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); other.Close() })
	return c.(*net.UnixConn), other.(*net.UnixConn)
}

// TestJoinHalfClose: an agent reads the end of the input, and what it answers after that comes out.
func TestJoinHalfClose(t *testing.T) {
	here, agent := pair(t)
	var out bytes.Buffer
	joined := make(chan error)
	go func() { joined <- Join(t.Context(), here, strings.NewReader("question"), &out) }()
	question, err := io.ReadAll(agent)
	if err != nil || string(question) != "question" {
		t.Fatalf("the agent got %q, %v", question, err)
	}
	_, _ = io.WriteString(agent, "answer")
	_ = agent.Close()
	if err := <-joined; err != nil || out.String() != greeting+"answer" {
		t.Errorf("out came %q, %v", &out, err)
	}
}

// TestJoinEnds: Join returns when the agent is gone or the context is over, also while nothing comes in, and fails when
// nobody reads what comes out.
func TestJoinEnds(t *testing.T) {
	never, w := io.Pipe()
	defer w.Close()
	ends := map[string]func(agent net.Conn, cancel func()){
		"agent":   func(agent net.Conn, _ func()) { _ = agent.Close() },
		"context": func(_ net.Conn, cancel func()) { cancel() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			here, agent := pair(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			joined := make(chan error)
			go func() { joined <- Join(ctx, here, never, io.Discard) }()
			end(agent, cancel)
			if err := <-joined; err != nil {
				t.Error(err)
			}
		})
	}
	here, _ := pair(t)
	closed, w2 := io.Pipe()
	_ = closed.Close()
	if err := Join(t.Context(), here, never, w2); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("with nobody who reads: %v", err)
	}
}

// FuzzGreeting: whatever comes before the greeting is passed over, and nothing of what follows is.
func FuzzGreeting(f *testing.F) {
	f.Add("", "\x00\x00")
	f.Add("Last login: never\n", greeting)
	f.Add("podste", "")
	f.Add("podstep agent-stdio 2\npod", "p")
	f.Fuzz(func(t *testing.T, before, after string) {
		from := strings.NewReader(before + greeting + after)
		err := awaitGreeting(from)
		if len(before) >= maxNoise-len(greeting) {
			return
		}
		if err != nil {
			t.Fatalf("before it came %q: %v", before, err)
		}
		if rest, _ := io.ReadAll(from); !strings.Contains(before, greeting) && string(rest) != after {
			t.Errorf("behind the greeting is %q, want %q", rest, after)
		}
	})
}

// TestNoise: a stream without a greeting is given up.
func TestNoise(t *testing.T) {
	if err := awaitGreeting(strings.NewReader(strings.Repeat("x", maxNoise+1))); !errors.Is(err, errNoise) {
		t.Errorf("the error is %v", err)
	}
	if err := awaitGreeting(strings.NewReader("bye")); !errors.Is(err, io.EOF) {
		t.Errorf("the error is %v", err)
	}
}
