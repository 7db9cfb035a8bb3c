package client

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// Kind is the sort of a failure, as far as a caller acts on it.
type Kind int

const (
	// Failed: the agent could not do it.
	Failed Kind = iota
	// Usage: what was asked makes no sense, whatever the state of the node.
	Usage
	// NoAgent: nobody answers at the socket, or no longer.
	NoAgent
	// Denied: somebody is there, but not for us.
	Denied
)

// Error is what every call of this package fails with.
type Error struct {
	Kind Kind
	// Text is for a person, and complete.
	Text probes.Text
	err  error
}

// Error is the text in English.
func (e *Error) Error() string { return e.Text.En }

// Words is the text in each language: see reason.Error.
func (e *Error) Words() probes.Text { return e.Text }

// Unwrap lets callers find context.Canceled and context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.err }

// KindOf returns the kind of an error; Failed for errors of others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}

// text makes a text in both languages.
func text(en, zh string) probes.Text { return probes.Text{En: en, Zh: zh} }

func newError(kind Kind, cause error, format probes.Text, args ...any) *Error {
	return &Error{Kind: kind, Text: reason.Sprintf(format, args...), err: cause}
}

// statusError makes the error of a call: what the problem is, or else the message that
// came with it.
func statusError(kind Kind, cause error, s *status.Status) *Error {
	t := reason.Problem(reason.ProblemOf(s.Err()))
	if t.En == "" {
		t = reason.Plain(s.Message())
	}
	return &Error{Kind: kind, Text: t, err: cause}
}

// plain turns the error of a call into an Error. The caller's own context comes
// first: a call that we gave up says nothing about the agent.
func plain(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if gaveUp := ctx.Err(); gaveUp != nil {
		return &Error{Kind: Failed, Text: gaveUpText(gaveUp), err: gaveUp}
	}
	s, ok := status.FromError(err)
	if !ok {
		return &Error{Kind: Failed, Text: reason.Plain(err.Error()), err: err}
	}
	switch s.Code() {
	case codes.InvalidArgument:
		return statusError(Usage, err, s)
	case codes.DeadlineExceeded:
		// The agent knows our deadline, and may notice it before we do.
		return statusError(Failed, errors.Join(context.DeadlineExceeded, err), s)
	case codes.PermissionDenied, codes.Unauthenticated:
		return statusError(Denied, err, s)
	case codes.Unavailable:
		return newError(NoAgent, err, text("the connection to the agent broke (%s); has the kubelet stopped? see podstep doctor", "与代理的连接断开（%s）；kubelet 停了吗？见 podstep doctor"), s.Message())
	case codes.Unimplemented:
		return newError(Failed, err, text("the agent does not know this request (%s); agent and podstep are of different versions, see podstep version", "代理不认识该请求（%s）；代理与 podstep 的版本不同，见 podstep version"), s.Message())
	}
	return statusError(Failed, err, s)
}

func gaveUpText(err error) probes.Text {
	if errors.Is(err, context.DeadlineExceeded) {
		return text("no answer in time", "没有及时回答")
	}
	return text("interrupted", "已中断")
}
