package client

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
	Text string
	err  error
}

func (e *Error) Error() string { return e.Text }

// Unwrap lets callers find context.Canceled and context.DeadlineExceeded.
func (e *Error) Unwrap() error { return e.err }

// KindOf tells the kind of an error; Failed for errors of others.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Failed
}

func newError(kind Kind, cause error, format string, args ...any) *Error {
	return &Error{Kind: kind, Text: fmt.Sprintf(format, args...), err: cause}
}

// plain turns the error of a call into an Error. The caller's own context comes
// first: a call that we gave up says nothing about the agent.
func plain(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if gaveUp := ctx.Err(); gaveUp != nil {
		return newError(Failed, gaveUp, "%s", gaveUpText(gaveUp))
	}
	s, ok := status.FromError(err)
	if !ok {
		return newError(Failed, err, "%s", err)
	}
	switch s.Code() {
	case codes.InvalidArgument:
		return newError(Usage, err, "%s", s.Message())
	case codes.DeadlineExceeded:
		// The agent knows our deadline, and may notice it before we do.
		return newError(Failed, errors.Join(context.DeadlineExceeded, err), "%s", s.Message())
	case codes.PermissionDenied, codes.Unauthenticated:
		return newError(Denied, err, "%s", s.Message())
	case codes.Unavailable:
		return newError(NoAgent, err, "the connection to the agent broke (%s); has the kubelet stopped? see podstep doctor", s.Message())
	case codes.Unimplemented:
		return newError(Failed, err, "the agent does not know this request (%s); agent and podstep are of different versions, see podstep version", s.Message())
	}
	return newError(Failed, err, "%s", s.Message())
}

func gaveUpText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return "interrupted"
}
