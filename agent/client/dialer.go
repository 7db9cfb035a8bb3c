package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/podstep/podstep/agent/peer"
)

// dialer makes a client's connections: gRPC asks for another when one breaks. Each is checked like the first, since
// another user may have put another socket there meanwhile.
type dialer struct {
	path string
	user user // the user of the client
	// looks says that only requests are sent that change nothing.
	looks atomic.Bool

	lookAfter, patience time.Duration // see the constants

	mu    sync.Mutex
	first net.Conn // was opened by dialBy; nil once gRPC has it
	err   error    // why the last connection failed
}

// dial is called by gRPC.
func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	d.mu.Lock()
	first := d.first
	d.first = nil
	d.mu.Unlock()
	if first != nil {
		return first, nil
	}
	conn, err := d.connect(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	return conn, err
}

// connect opens the socket. It looks at the file first: a failed dial cannot tell a stale socket from one that was
// never there, and nothing should be sent to a socket that another user has put there. After it has dialled, it checks
// the process that listens. The file may have been replaced by then, or its owner may not be the listener's.
func (d *dialer) connect(ctx context.Context) (net.Conn, error) {
	if err := checkSocket(d.path, d.user); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", d.path)
	switch {
	case err == nil:
		return d.checkServer(conn)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, newError(NoAgent, err, text("nobody listens at %s any more: the socket was left behind by an agent that is gone; start podstep-kubelet again, see podstep doctor", "%s 已无人监听：套接字是已退出的代理留下的；请重新启动 podstep-kubelet，见 podstep doctor"), d.path)
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(d.path, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notThere(d.path, err)
	}
	return nil, newError(NoAgent, err, text("connect to the agent at %s: %s; see podstep doctor", "连接 %s 的代理：%s；见 podstep doctor"), d.path, bare(err))
}

// checkServer closes a connection to a process that cannot be the user's agent or root's, and returns an error.
func (d *dialer) checkServer(conn net.Conn) (net.Conn, error) {
	server, err := peer.Of(conn)
	if err == nil && d.user.trusts(int(server.Uid)) {
		return conn, nil
	}
	_ = conn.Close()
	if err != nil {
		return nil, newError(NoAgent, err, text("connect to the agent at %s: %s; see podstep doctor", "连接 %s 的代理：%s；见 podstep doctor"), d.path, err)
	}
	return nil, newError(Denied, nil, text("a process of %s listens at %s, not one of yours or of root; it is not used, because it would see and answer what you ask", "%s 的进程在监听 %s，它不属于你或 root；不使用它，因为它会看到并回答你的请求"), userName(int(server.Uid)), d.path)
}

// plain is like the function plain. If the connection failed because another user is at the socket, the error says
// that.
func (d *dialer) plain(ctx context.Context, err error) error {
	out := plain(ctx, err)
	if KindOf(out) != NoAgent {
		return out
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if KindOf(d.err) == Denied {
		return d.err
	}
	return out
}

func (d *dialer) unary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := d.may(method); err != nil {
		return err
	}
	return d.plain(ctx, call(ctx, method, req, reply, conn, opts...))
}

func (d *dialer) stream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if err := d.may(method); err != nil {
		return nil, err
	}
	s, err := open(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, d.plain(ctx, err)
	}
	return &stream{ClientStream: s, dialer: d, caller: ctx}, nil
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
	dialer *dialer
	caller context.Context
}

func (s *stream) RecvMsg(m any) error { return s.dialer.plain(s.caller, s.ClientStream.RecvMsg(m)) }

func (s *stream) SendMsg(m any) error { return s.dialer.plain(s.caller, s.ClientStream.SendMsg(m)) }
