package server

import (
	"context"
	"time"

	"google.golang.org/grpc/stats"
)

// deadAfter is how long a client may be silent on a connection that is asked for a sign of life. Then it counts as
// gone. That matters for clients that are stopped, or at the other end of a forwarded socket.
const deadAfter = 30 * time.Second

// connections gives every request the context of its client's connection, and the number of connections.
type connections struct{ count func() int }

type connectionKey struct{}

type connection struct {
	context.Context
	end   context.CancelFunc
	count func() int
}

// TagConn is called when a connection begins. The context that it returns is the parent of the contexts of the
// connection's requests.
func (all connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	c := connection{count: all.count}
	c.Context, c.end = context.WithCancel(context.Background())
	return context.WithValue(ctx, connectionKey{}, c)
}

// HandleConn ends the connection's context when the connection ends.
func (connections) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, over := s.(*stats.ConnEnd); over {
		if c, ok := ctx.Value(connectionKey{}).(connection); ok {
			c.end()
		}
	}
}

// TagRPC and HandleRPC have nothing to add.
func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (connections) HandleRPC(context.Context, stats.RPCStats)                       {}

// Client returns the context with which a request's holds end: the connection's if the request asks for that, else one
// that never ends.
func Client(ctx context.Context, whileConnected bool) context.Context {
	if c, ok := ctx.Value(connectionKey{}).(connection); ok && whileConnected {
		return c
	}
	return context.Background()
}

// Connections returns how many clients are connected to the server that got the request.
func Connections(ctx context.Context) int {
	if c, ok := ctx.Value(connectionKey{}).(connection); ok {
		return c.count()
	}
	return 0
}
