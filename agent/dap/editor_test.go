package dap

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/trace"
)

// patience is how long a test waits for what must happen.
var patience = time.Minute

// message is a message of the adapter.
type message struct {
	Seq        int             `json:"seq"`
	Type       string          `json:"type"`
	Command    string          `json:"command"`
	Event      string          `json:"event"`
	RequestSeq int             `json:"request_seq"`
	Success    bool            `json:"success"`
	Message    string          `json:"message"`
	Body       json.RawMessage `json:"body"`
}

// into reads the body.
func (m *message) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(m.Body, v); err != nil {
		t.Fatalf("read body of %s%s: %v", m.Command, m.Event, err)
	}
}

// editor is a client of a session, which the test plays.
type editor struct {
	t    testing.TB
	conn io.ReadWriteCloser
	end  context.CancelFunc // kills its podstep

	seq int
	mu  sync.Mutex
	// all are all messages that came, and bytes their text.
	bytes   bytes.Buffer
	answers map[int]*message
	events  []*message
	news    chan struct{} // closed at the next message
	hungUp  bool
}

// newEditor begins a session with an editor of the test.
func newEditor(t testing.TB, o Options) *editor {
	t.Helper()
	here, there := net.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = Serve(ctx, there, o)
	}()
	t.Cleanup(func() {
		cancel()
		_ = here.Close()
		select {
		case <-over:
		case <-time.After(patience):
			t.Error("the session does not end")
		}
	})
	return editorOn(t, here, cancel)
}

// editorOn returns an editor that speaks over a connection. end kills the other side.
func editorOn(t testing.TB, conn io.ReadWriteCloser, end context.CancelFunc) *editor {
	e := &editor{t: t, conn: conn, end: end, answers: map[int]*message{}, news: make(chan struct{})}
	go e.read()
	return e
}

func (e *editor) read() {
	r := bufio.NewReader(e.conn)
	for {
		text, err := dap.ReadBaseMessage(r)
		e.mu.Lock()
		m := &message{}
		switch {
		case err != nil:
			e.hungUp = true
		case json.Unmarshal(text, m) != nil:
			e.t.Errorf("not JSON: %q", text)
		case m.Type == "response":
			e.answers[m.RequestSeq] = m
		default:
			e.events = append(e.events, m)
		}
		e.bytes.Write(text)
		close(e.news)
		e.news = make(chan struct{})
		e.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits until is returns true. is is called with mu held.
func (e *editor) until(what string, is func() bool) {
	e.t.Helper()
	late := time.After(patience)
	for {
		e.mu.Lock()
		yes, news, hungUp := is(), e.news, e.hungUp
		e.mu.Unlock()
		if yes {
			return
		}
		if hungUp {
			e.t.Fatalf("the session ended before %s", what)
		}
		select {
		case <-news:
		case <-late:
			e.mu.Lock()
			defer e.mu.Unlock()
			text := e.bytes.String()
			e.t.Fatalf("no %s; the session wrote at last\n%s", what, text[max(0, len(text)-2000):])
		}
	}
}

// send sends a request and returns its number.
func (e *editor) send(command string, arguments any) int {
	e.t.Helper()
	e.seq++
	text, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		e.t.Fatal(err)
	}
	if err := dap.WriteBaseMessage(e.conn, text); err != nil {
		e.t.Fatalf("send %s: %v", command, err)
	}
	return e.seq
}

// ask sends a request and waits for the answer.
func (e *editor) ask(command string, arguments any) *message {
	e.t.Helper()
	n := e.send(command, arguments)
	var m *message
	e.until("answer to "+command, func() bool { m = e.answers[n]; return m != nil })
	return m
}

// do is ask for a request that must succeed.
func (e *editor) do(command string, arguments any) *message {
	e.t.Helper()
	m := e.ask(command, arguments)
	if !m.Success {
		e.t.Fatalf("%s %v: %s", command, arguments, m.Message)
	}
	return m
}

// refused is ask for a request that must fail with a sentence that has a text.
func (e *editor) refused(command string, arguments any, text string) {
	e.t.Helper()
	if m := e.ask(command, arguments); m.Success || !strings.Contains(m.Message, text) {
		e.t.Errorf("%s %v: success %v, %q, want an error with %q", command, arguments, m.Success, m.Message, text)
	}
}

// event waits for the next event of that name for which is returns true, and takes it. Others stay.
func (e *editor) event(name string, is func(*message) bool) (found *message) {
	e.t.Helper()
	e.until("event "+name, func() bool {
		for i, m := range e.events {
			if m.Event == name && (is == nil || is(m)) {
				found, e.events = m, append(e.events[:i:i], e.events[i+1:]...)
				return true
			}
		}
		return false
	})
	return found
}

// printed waits for a line of the console with a text.
func (e *editor) printed(text string) {
	e.t.Helper()
	e.event("output", func(m *message) bool {
		var body dap.OutputEventBody
		return json.Unmarshal(m.Body, &body) == nil && strings.Contains(body.Output, text)
	})
}

// has reports whether an event of that name has come that nobody has taken.
func (e *editor) has(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.events {
		if m.Event == name {
			return true
		}
	}
	return false
}

// stopped waits for the next stop.
func (e *editor) stopped() (body stoppedBody) {
	e.t.Helper()
	m := e.event("stopped", nil)
	if !bytes.Contains(m.Body, []byte(`"allThreadsStopped":`)) {
		e.t.Errorf("a stop does not say whether all threads are stopped: %s", m.Body)
	}
	m.into(e.t, &body)
	return body
}

// attach begins a session as editors do.
func (e *editor) attach(client string, configuration map[string]any) {
	e.t.Helper()
	e.do("initialize", map[string]any{"clientID": client, "adapterID": "podstep", "linesStartAt1": true})
	e.do("attach", configuration)
	e.event("initialized", nil)
}

// frames returns the names of a pod's frames, and the frames.
func (e *editor) frames(place int) (names string, all []dap.StackFrame) {
	e.t.Helper()
	var body dap.StackTraceResponseBody
	e.do("stackTrace", map[string]any{"threadId": place}).into(e.t, &body)
	for _, f := range body.StackFrames {
		names += f.Name + "\n"
	}
	return strings.TrimSpace(names), body.StackFrames
}

// recording is a recording in memory.
type recording struct {
	*trace.Reader
	io.Closer
}

// Close closes nothing.
func (recording) Close() error { return nil }
