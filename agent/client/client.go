package client

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// greeting is how long an agent may take to say who it is. It answers from
// memory; one that does not is none, or is stopped by a debugger.
const greeting = 5 * time.Second

// maxMessage bounds one answer. Batches are far smaller; the list of pods of a
// large node is the largest thing that is sent at once.
const maxMessage = 64 << 20

// Client is a connection to an agent. The calls of the protocol are its
// methods; those that fail, fail with *Error.
type Client struct {
	agentpb.AgentClient
	// Path is the socket.
	Path string

	conn *grpc.ClientConn
	info *agentpb.InfoResponse
}

// Dial connects to the agent at path, or at DefaultSocket if path is empty.
func Dial(ctx context.Context, path string) (*Client, error) {
	if path == "" {
		path = DefaultSocket()
	}
	return dialBy(ctx, &dialer{path: path, user: caller(os.Getenv, os.Getuid())})
}

func dialBy(ctx context.Context, d *dialer) (*Client, error) {
	first, err := d.connect(ctx)
	if err != nil {
		return nil, err
	}
	d.first = first
	conn, err := grpc.NewClient("passthrough:///podstep",
		grpc.WithContextDialer(d.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithUnaryInterceptor(d.unary),
		grpc.WithStreamInterceptor(d.stream))
	if err != nil {
		first.Close()
		return nil, newError(Failed, err, text("connect to the agent at %s: %s", "连接 %s 的代理：%s"), d.path, err)
	}
	c := &Client{AgentClient: agentpb.NewAgentClient(conn), Path: d.path, conn: conn}
	if err := c.greet(ctx); err != nil {
		conn.Close()
		first.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	info, err := c.AgentClient.Info(within, &agentpb.InfoRequest{})
	switch {
	case err == nil:
		c.info = wire.Complete(info)
		return nil
	case ctx.Err() != nil || KindOf(err) == Denied:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return newError(NoAgent, err, text("no answer from the agent at %s within %s: is its process stopped? see podstep doctor", "%s 的代理在 %s 内没有回答：它的进程被停住了吗？见 podstep doctor"), c.Path, greeting)
	}
	return newError(NoAgent, err, text("the program that listens at %s does not answer like an agent (%s); name the agent's socket with --socket or %s", "监听 %s 的程序不像代理（%s）；请用 --socket 或 %s 指定代理的套接字"), c.Path, reason.Error(err), SocketEnv)
}

// About is what the agent reported of itself when it was dialled.
func (c *Client) About() *agentpb.InfoResponse { return c.info }

// Close ends the connection, and with it the holds that live by it.
func (c *Client) Close() error { return c.conn.Close() }
