package client

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/peer"
	"github.com/podstep/podstep/agent/reason"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// An agent answers from memory, so one that has not answered after lookAfter may be stopped, by a debugger for example.
// If it is not stopped, it has until patience: its machine may be busy.
const (
	lookAfter = 5 * time.Second
	patience  = 30 * time.Second
)

// maxMessage bounds one answer. Batches are far smaller; the list of pods of a
// large node is the largest thing that is sent at once.
const maxMessage = 64 << 20

// Client is a connection to an agent. The calls of the protocol are its methods. They fail with *Error.
type Client struct {
	agentpb.AgentClient
	// Place is where the agent is.
	Place Place

	conn   *grpc.ClientConn
	info   *agentpb.InfoResponse
	dialer *dialer
}

// Dial connects to the agent at the socket path, or at DefaultSocket if path is empty.
func Dial(ctx context.Context, path string) (*Client, error) { return Reach(ctx, At(path)) }

// Reach connects to the agent at a place.
func Reach(ctx context.Context, p Place) (*Client, error) { return dialBy(ctx, newDialer(p)) }

func dialBy(ctx context.Context, d *dialer) (*Client, error) {
	first, err := d.place.Connect(ctx)
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
		return nil, newError(Failed, err, text("connect to the agent at %s: %s", "连接 %s 的代理：%s"), d.place, err)
	}
	c := &Client{AgentClient: agentpb.NewAgentClient(conn), Place: d.place, conn: conn, dialer: d}
	if err := c.greet(ctx, d, first); err != nil {
		conn.Close()
		first.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) greet(ctx context.Context, d *dialer, conn net.Conn) error {
	info, err := c.askInfo(ctx, d.lookAfter)
	late := func() bool { return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil }
	server, _ := peer.Of(conn) // the dialer did so without an error
	if late() && !server.Stopped() {
		info, err = c.askInfo(ctx, d.patience)
	}
	switch {
	case err == nil:
		c.info = info
		return nil
	case ctx.Err() != nil || KindOf(err) == Denied:
		return err
	case late() && server.Stopped():
		return newError(NoAgent, err, text("the agent at %s does not answer: its process, %d, is stopped, by a signal or a debugger; kill -CONT %[2]d has it go on", "%s 的代理没有回答：它的进程 %d 被信号或调试器停住了；kill -CONT %[2]d 让它继续"), c.Place, server.Pid)
	case late():
		return newError(NoAgent, err, text("no answer from the agent at %s within %s, although its process is not stopped: does it hang, or is the machine too busy? see podstep doctor", "%s 的代理在 %s 内没有回答，而它的进程没有被停住：是它卡住了，还是机器太忙？见 podstep doctor"), c.Place, d.patience)
	}
	return newError(NoAgent, err, text("the program that listens at %s does not answer like an agent (%s); name the agent's socket with --socket or %s", "监听 %s 的程序不像代理（%s）；请用 --socket 或 %s 指定代理的套接字"), c.Place, reason.Error(err), SocketEnv)
}

func (c *Client) askInfo(ctx context.Context, within time.Duration) (*agentpb.InfoResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return c.AgentClient.Info(ctx, &agentpb.InfoRequest{})
}

// About returns what the agent reported about itself when it was dialled.
func (c *Client) About() *agentpb.InfoResponse { return c.info }

// Close ends the connection, and with it the holds that live by it.
func (c *Client) Close() error { return c.conn.Close() }
