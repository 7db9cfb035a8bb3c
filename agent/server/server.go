// Package server lets the agent's clients in, on a unix socket for its owner only. It bounds how many connect and what
// they send, knows which process makes a request and when its connection ends, and lets no secret out with an answer.
package server

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/hook"
)

// maxRequest bounds what a client may send in one message, in bytes.
const maxRequest = 64 << 10

// Server answers requests on a socket.
type Server struct{ grpc *grpc.Server }

// Serve makes a service answer requests on the listener, which must be of a unix socket. It returns at once; Stop ends
// it. access is about clients of other machines.
func Serve(service agentpb.AgentServer, l net.Listener, access Access) *Server {
	conns := newLimitListener(l)
	s := &Server{}
	s.grpc = grpc.NewServer(
		grpc.Creds(peerCredentials{}),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxConcurrentStreams(64),
		grpc.ConnectionTimeout(5*time.Second),
		grpc.StatsHandler(connections{conns.count}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: deadAfter / 2, Timeout: deadAfter / 2}),
		grpc.ChainUnaryInterceptor(catchUnary, access.unary), grpc.ChainStreamInterceptor(catchStream, access.stream),
	)
	agentpb.RegisterAgentServer(s.grpc, service)
	reflection.Register(s.grpc)
	hook.Go(func() { _ = s.grpc.Serve(conns) })
	return s
}

// Stop ends the server and its connections.
func (s *Server) Stop() { s.grpc.Stop() }

// catchUnary turns a panic in a request into an error: it must not take the kubelet down.
func catchUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	resp, err = next(ctx, req)
	return cleanAnswer(resp), cleanStatus(err)
}

func catchStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	return cleanStatus(next(srv, cleanStream{stream}))
}
