package far

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// maxErrors bounds how much is kept of what a program elsewhere writes to its standard error, in bytes.
const maxErrors = 2 << 10

// leaves is how long a program elsewhere may take to end after its input has.
const leaves = 2 * time.Second

// streams are those of a program elsewhere. runs starts the program, passes the streams, and returns when it has ended.
type streams struct {
	in, out net.Conn
	errors  *tail
}

// stream is a connection to an agent over the streams of a program elsewhere.
type stream struct {
	net.Conn // this end of a pipe
	to       string
	ended    chan struct{}
	why      error // why the program ended; set before ended is closed
	stop     context.CancelFunc
	closing  sync.Once
}

// open runs agent-stdio elsewhere and returns when it has reached the agent. to names the place in a sentence.
func open(ctx context.Context, to string, run func(context.Context, streams) error) (net.Conn, error) {
	here, there := net.Pipe()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &stream{Conn: here, to: to, ended: make(chan struct{}), stop: stop}
	printed := &tail{}
	go func() {
		err := run(running, streams{there, there, printed})
		s.why = because(to, err, printed.String())
		close(s.ended)
		_ = there.Close()
		stop()
	}()
	defer context.AfterFunc(ctx, func() { _ = s.abort() })()
	err := awaitGreeting(s)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if ended := (*endedError)(nil); errors.As(err, &ended) && ended.well {
		err = errNoise
	}
	if err != nil {
		_ = s.abort()
		return nil, notReached(to, err)
	}
	return s, nil
}

// Read is that of the pipe. At the end it fails with the reason why the program has ended.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	<-s.ended // the other end is closed after that
	return n, s.why
}

// Close ends the program's input, and then the program, if it does not end by itself.
func (s *stream) Close() error {
	err := s.Conn.Close()
	s.closing.Do(func() {
		t := time.AfterFunc(leaves, s.stop)
		go func() {
			<-s.ended
			t.Stop()
		}()
	})
	return err
}

// abort ends the program at once.
func (s *stream) abort() error {
	s.stop()
	return s.Close()
}

// endedError is the reason why a program elsewhere has ended.
type endedError struct {
	text probes.Text
	well bool // the program itself reported no error
}

func (e *endedError) Error() string      { return e.text.En }
func (e *endedError) Words() probes.Text { return e.text }

// errNoProgram is returned by a program that runs others elsewhere and has not found podstep.
var errNoProgram = errors.New("podstep is not in the PATH there")

// because makes the reason of what a program wrote to its standard error, or else of the error with which it ended.
func because(to string, err error, printed string) error {
	printed = strings.TrimPrefix(line(printed), "podstep: ")
	switch {
	case err == nil:
		return &endedError{words.With(words.Text("the agent at %s has closed the connection", "%s 的代理关闭了连接"), to), true}
	case errors.Is(err, errNoProgram):
		return &endedError{text: words.With(words.Text(
			"podstep is not in the PATH there, which can be shorter than that of a login: install its package, or put it into /usr/local/bin (%s)",
			"那里的 PATH 中没有 podstep；该 PATH 可能比登录时的短：请安装软件包，或把它放进 /usr/local/bin（%s）"), printed)}
	case printed != "":
		return &endedError{text: words.Same(printed)}
	}
	return &endedError{text: words.Same(err.Error())}
}

// notReached makes the error of a place whose agent was not reached.
func notReached(to string, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return client.Fail(client.NoAgent, err, words.Text("%s did not answer in time", "%s 没有及时回答"), to)
	case errors.Is(err, context.Canceled):
		return client.Fail(client.NoAgent, err, words.Text("interrupted", "已中断"))
	case errors.Is(err, errNoise):
		return client.Fail(client.NoAgent, err, words.Text("%s does not answer like podstep agent-stdio; is another program called podstep there?", "%s 的回答不像 podstep agent-stdio；那里是否有别的程序叫 podstep？"), to)
	}
	return client.Fail(client.NoAgent, err, words.Text("reach the agent at %s: %s", "连接 %s 的代理：%s"), to, err)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - maxErrors; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "")
}
