package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/trace"
)

// Options are what a session works with.
type Options struct {
	// Place is where the agent is, for editors that name no socket; nil: at the default socket of package client.
	Place client.Place
	// Open opens recordings for a replay. One that is a trace file, or logs of one node.
	Open func(ctx context.Context, names ...string) (trace.Recording, error)
	// Lab starts a node of the editor's own, and returns when it is Ready. It reports what it prints meanwhile. The node ends
	// with ctx, or by Close. nil: launch starts none.
	Lab func(ctx context.Context, report func(line string)) (Lab, error)
	// Why finds out why a pod is stuck from all that can be reached, the agent included. nil: only the pod's
	// story is asked.
	Why func(ctx context.Context, at client.Place, namespace, name string) (string, error)
}

const (
	// maxMessage bounds what is read for one message, in bytes. It is more than package go-dap takes.
	maxMessage = 5 << 20
	// afterEnd is how long a session that is over still answers, if its editor does not hang up.
	afterEnd = 5 * time.Second
)

// incoming is one message of the editor, or the error with which it could not be read.
type incoming struct {
	text []byte
	err  error
}

// Serve answers one editor until it disconnects or hangs up, or ctx ends. Then all pods that the session held go on. It
// closes rw. The error is nil if the editor ended the session.
func Serve(ctx context.Context, rw io.ReadWriteCloser, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer rw.Close()
	s := newSession(ctx, rw, o)
	defer s.close()
	messages := make(chan incoming)
	go read(ctx, rw, messages)
	var grace <-chan time.Time
	for {
		select {
		case m := <-messages:
			if errors.Is(m.err, io.EOF) {
				return nil
			}
			if m.err != nil {
				return fmt.Errorf("read message of the editor: %w", m.err)
			}
			s.handle(m.text)
		case <-s.over:
			t := time.NewTimer(afterEnd)
			defer t.Stop()
			s.over, grace = nil, t.C
		case <-grace:
			return nil
		case err := <-s.out.broke:
			return fmt.Errorf("write to the editor: %w", err)
		case <-ctx.Done():
			return nil
		}
	}
}

// read passes on the editor's messages, until one cannot be read.
func read(ctx context.Context, from io.Reader, to chan<- incoming) {
	limited := &io.LimitedReader{R: from}
	r := bufio.NewReader(limited)
	for {
		limited.N = maxMessage
		text, err := dap.ReadBaseMessage(r)
		select {
		case to <- incoming{text, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// handle answers one message. A message that is no request gets no answer; one that cannot be read is reported.
func (s *session) handle(text []byte) {
	m, err := dap.DecodeProtocolMessage(text)
	if request, ok := m.(dap.RequestMessage); ok && err == nil {
		s.serve(request)
		return
	}
	var head dap.Request
	if json.Unmarshal(text, &head) != nil {
		s.output(important, "a message is not JSON of the Debug Adapter Protocol; podstep leaves it out")
		return
	}
	if head.Type != "request" {
		return
	}
	var unknown *dap.DecodeProtocolMessageFieldError
	if errors.As(err, &unknown) {
		s.refuse(&head, fmt.Errorf("podstep does not know the request %q; docs/dap.md lists those that it does", head.Command))
		return
	}
	s.refuse(&head, fmt.Errorf("the arguments of the request %q cannot be read: %v", head.Command, err))
}

// serve answers one request. A fault of podstep in it is an error of that request, and ends nothing.
func (s *session) serve(request dap.RequestMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			s.refuse(request.GetRequest(), fmt.Errorf("podstep failed at this request: %v; please report that", r))
		}
	}()
	if err := s.dispatch(request); err != nil {
		s.refuse(request.GetRequest(), err)
	}
}
