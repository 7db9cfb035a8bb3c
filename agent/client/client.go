package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
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
	first, err := connect(path)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///podstep",
		grpc.WithContextDialer(dialer(path, first)),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithNoProxy(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithUnaryInterceptor(plainUnary),
		grpc.WithStreamInterceptor(plainStream))
	if err != nil {
		first.Close()
		return nil, newError(Failed, err, "connect to the agent at %s: %s", path, err)
	}
	c := &Client{AgentClient: agentpb.NewAgentClient(conn), Path: path, conn: conn}
	if err := c.greet(ctx); err != nil {
		conn.Close()
		first.Close()
		return nil, err
	}
	return c, nil
}

// dialer hands out the connection that Dial has checked, then new ones: gRPC
// comes back for more when a connection breaks.
func dialer(path string, first net.Conn) func(context.Context, string) (net.Conn, error) {
	var once sync.Once
	return func(ctx context.Context, _ string) (conn net.Conn, err error) {
		once.Do(func() { conn = first })
		if conn != nil {
			return conn, nil
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
}

func (c *Client) greet(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	info, err := c.AgentClient.Info(within, &agentpb.InfoRequest{})
	switch {
	case err == nil:
		c.info = info
		return nil
	case ctx.Err() != nil || KindOf(err) == Denied:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return newError(NoAgent, err, "no answer from the agent at %s within %s: is its process stopped? see podstep doctor", c.Path, greeting)
	}
	return newError(NoAgent, err, "what listens at %s does not answer like an agent (%s); name the agent's socket with --socket or %s", c.Path, err, SocketEnv)
}

// About is what the agent told about itself when it was dialled.
func (c *Client) About() *agentpb.InfoResponse { return c.info }

// Close ends the connection, and with it the holds that live by it.
func (c *Client) Close() error { return c.conn.Close() }

func plainUnary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	return plain(ctx, call(ctx, method, req, reply, conn, opts...))
}

func plainStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, opts...)
	if err != nil {
		return nil, plain(ctx, err)
	}
	return &stream{ClientStream: s, caller: ctx}, nil
}

// stream gives the errors of a stream in plain words. It keeps the caller's
// context: the stream's own is over as soon as the stream is, whoever ended it.
type stream struct {
	grpc.ClientStream
	caller context.Context
}

func (s *stream) RecvMsg(m any) error { return plain(s.caller, s.ClientStream.RecvMsg(m)) }

func (s *stream) SendMsg(m any) error { return plain(s.caller, s.ClientStream.SendMsg(m)) }
