package client

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/podstep/podstep/agent/peer"
)

// Place is where an agent is: a socket of this machine, or something that leads to one elsewhere, such as package far has.
type Place interface {
	// Connect opens a connection to the agent. Its errors are sentences for a person, best of type *Error.
	Connect(ctx context.Context) (net.Conn, error)
	// String names the place in a sentence: the path of a socket, or where an agent of another machine is.
	String() string
}

// Identified is a place whose agent cannot see who its client is.
type Identified interface {
	Place
	// Identify returns the metadata of a request that takes a token of a ServiceAccount. If there is no token, it also
	// returns why, as a sentence for a person.
	Identify(ctx context.Context, account string) (metadata []string, why error)
}

// socket is a place on this machine.
type socket struct {
	path string
	user user // the user of the client
}

// At returns the place of an agent that listens at a socket of this machine; at "" it is DefaultSocket.
func At(path string) Place {
	if path == "" {
		path = DefaultSocket()
	}
	return &socket{path, caller(os.Getenv, os.Getuid())}
}

// SocketOf returns the path of the socket of a place on this machine.
func SocketOf(p Place) (path string, here bool) {
	s, here := p.(*socket)
	if !here {
		return "", false
	}
	return s.path, true
}

func (s *socket) String() string { return s.path }

// Connect opens the socket. It looks at the file first: a failed dial cannot tell a stale socket from one that was
// never there, and nothing should be sent to a socket that another user has put there. After it has dialled, it checks
// the process that listens. The file may have been replaced by then, or its owner may not be the listener's.
func (s *socket) Connect(ctx context.Context) (net.Conn, error) {
	if err := checkSocket(s.path, s.user); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.path)
	switch {
	case err == nil:
		return s.checkServer(conn)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil, newError(NoAgent, err, text("nobody listens at %s any more: the socket was left behind by an agent that is gone; start podstep-kubelet again, see podstep doctor", "%s 已无人监听：套接字是已退出的代理留下的；请重新启动 podstep-kubelet，见 podstep doctor"), s.path)
	case errors.Is(err, fs.ErrPermission):
		return nil, denied(s.path, err)
	case errors.Is(err, fs.ErrNotExist):
		return nil, notThere(s.path, err)
	}
	return nil, newError(NoAgent, err, text("connect to the agent at %s: %s; see podstep doctor", "连接 %s 的代理：%s；见 podstep doctor"), s.path, bare(err))
}

// checkServer closes a connection to a process that cannot be the user's agent or root's, and returns an error.
func (s *socket) checkServer(conn net.Conn) (net.Conn, error) {
	server, err := peer.Of(conn)
	if err == nil && s.user.trusts(int(server.Uid)) {
		return conn, nil
	}
	_ = conn.Close()
	if err != nil {
		return nil, newError(NoAgent, err, text("connect to the agent at %s: %s; see podstep doctor", "连接 %s 的代理：%s；见 podstep doctor"), s.path, err)
	}
	return nil, newError(Denied, nil, text("a process of %s listens at %s, not one of yours or of root; it is not used, because it would see and answer what you ask", "%s 的进程在监听 %s，它不属于你或 root；不使用它，因为它会看到并回答你的请求"), userName(int(server.Uid)), s.path)
}
