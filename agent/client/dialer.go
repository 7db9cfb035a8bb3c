package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
)

// dialer makes a client's connections: gRPC asks for another when one breaks. Each is checked like the first, since
// another user may have put another socket there meanwhile.
type dialer struct {
	place Place
	// looks says that only requests are sent that change nothing.
	looks atomic.Bool

	lookAfter, patience time.Duration // see the constants

	mu    sync.Mutex
	first net.Conn // was opened by dialBy; nil once gRPC has it
	err   error    // why the last connection failed
}

func newDialer(p Place) *dialer { return &dialer{place: p, lookAfter: lookAfter, patience: patience} }

// dial is called by gRPC.
func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	d.mu.Lock()
	first := d.first
	d.first = nil
	d.mu.Unlock()
	if first != nil {
		return first, nil
	}
	conn, err := d.place.Connect(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return conn, err
}

// plain is like the function plain. If the connection failed because another user is at the socket, or on the way to
// another machine, the error says that.
func (d *dialer) plain(ctx context.Context, err error) error {
	out := plain(ctx, err)
	if KindOf(out) != NoAgent {
		return out
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, here := d.place.(*socket)
	switch {
	case KindOf(d.err) == Denied, !here && d.err != nil:
		return d.err
	case !here:
		return newError(NoAgent, err, text("the connection to the agent at %s broke (%s)", "与 %s 的代理的连接断开（%s）"), d.place, status.Convert(err).Message())
	}
	return out
}

func (d *dialer) unary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := d.may(method); err != nil {
		return err
	}
	shown, why := d.identify(ctx, method)
	return withReason(d.plain(ctx, call(shown, method, req, reply, conn, opts...)), why)
}

func (d *dialer) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := d.may(method); err != nil {
		return nil, err
	}
	shown, why := d.identify(ctx, method)
	s, err := open(shown, desc, conn, method, opts...)
	if err != nil {
		return nil, withReason(d.plain(ctx, err), why)
	}
	return &stream{ClientStream: s, dialer: d, caller: ctx, noToken: why}, nil
}

// identify adds the name and the token of the user to the context of a request. If there is no token, it also returns the
// reason; the agent may not need one.
func (d *dialer) identify(ctx context.Context, method string) (context.Context, error) {
	place, can := d.place.(Identified)
	if !can {
		return ctx, nil
	}
	pairs, why := place.Identify(ctx, agentpb.AccountFor(method))
	return metadata.AppendToOutgoingContext(ctx, pairs...), why
}

// withReason adds to the error of a request that takes a token why there was none.
func withReason(err, noToken error) error {
	if noToken == nil || reason.CodeOf(errors.Unwrap(err)) != agentpb.Problem_TOKEN_NEEDED {
		return err
	}
	return newError(Denied, err, text("%s; %s", "%s；%s"), reason.Error(err), reason.Error(noToken))
}

// may returns an error for a request that this connection does not send.
func (d *dialer) may(method string) error {
	if !d.looks.Load() {
		return nil
	}
	return refuse(method)
}

// stream turns the errors of a stream into plain words. It keeps the caller's context, because the stream's own context
// ends with the stream, whoever ended it.
type stream struct {
	grpc.ClientStream
	dialer  *dialer
	caller  context.Context
	noToken error // why the request had no token
}

func (s *stream) RecvMsg(m any) error {
	return withReason(s.dialer.plain(s.caller, s.ClientStream.RecvMsg(m)), s.noToken)
}

func (s *stream) SendMsg(m any) error { return s.dialer.plain(s.caller, s.ClientStream.SendMsg(m)) }
