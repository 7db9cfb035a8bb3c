package client

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Kind is the sort of a failure, as far as callers tell them apart.
type Kind int

const (
	// Failed: the agent could not do it.
	Failed Kind = iota
	// Usage: the request makes no sense, whatever the state of the node.
	Usage
	// NoAgent: no agent answers at the socket, or none answers any more.
	NoAgent
	// Denied: an agent may be there, but this user may not speak to it.
	Denied
)

// Error is the error of every call of this package.
type Error struct {
	Kind Kind
	// Text is the complete text for a person.
	Text probes.Text
	err  error
}

// Error returns the text in English.
func (e *Error) Error() string { return e.Text.En }

// Words returns the text in each language: see reason.Error.
func (e *Error) Words() probes.Text { return e.Text }

// Unwrap lets callers find context.Canceled and context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.err }

// KindOf returns the kind of an error, or Failed for an error that this package did not make.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}

// Fail makes an error with a text for a person, for packages that make places. Unwrap returns cause, which may be nil.
func Fail(kind Kind, cause error, format probes.Text, args ...any) *Error {
	return newError(kind, cause, format, args...)
}

// text makes a text in both languages.
func text(en, zh string) probes.Text { return probes.Text{En: en, Zh: zh} }

func newError(kind Kind, cause error, format probes.Text, args ...any) *Error {
	return &Error{Kind: kind, Text: words.With(format, args...), err: cause}
}

// statusError makes the error of a call. Its text is that of the problem in the status, or else the message of the
// status.
func statusError(kind Kind, cause error, s *status.Status) *Error {
	t := reason.Problem(reason.ProblemOf(s.Err()))
	if t.En == "" {
		t = words.Same(s.Message())
	}
	return &Error{Kind: kind, Text: t, err: cause}
}

// plain turns the error of a call into an Error. The caller's own context comes first: a call that the caller gave up
// says nothing about the agent.
func plain(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if gaveUp := ctx.Err(); gaveUp != nil {
		return &Error{Kind: Failed, Text: gaveUpText(gaveUp), err: gaveUp}
	}
	s, ok := status.FromError(err)
	if !ok {
		return &Error{Kind: Failed, Text: words.Same(err.Error()), err: err}
	}
	switch s.Code() {
	case codes.InvalidArgument:
		return statusError(Usage, err, s)
	case codes.DeadlineExceeded:
		// The agent knows the caller's deadline, and may notice it first.
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
