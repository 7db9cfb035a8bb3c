package agent

import (
	"context"

	"google.golang.org/grpc/peer"

	"github.com/podstep/podstep/agent/agentpb"
)

// peerProcess is the process at the other end of a connection, as the kernel
// tells it. The zero value is nobody.
type peerProcess struct {
	uid uint32
	pid int32
}

// peerFrom is the process that makes a request.
func peerFrom(ctx context.Context) peerProcess {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(peerInfo); ok {
			return info.peer
		}
	}
	return peerProcess{}
}

func (p peerProcess) proto() *agentpb.Peer {
	if p == (peerProcess{}) {
		return nil
	}
	return &agentpb.Peer{Uid: p.uid, Pid: p.pid}
}

// fields name the process in an event.
func (p peerProcess) fields() []field {
	if p == (peerProcess{}) {
		return nil
	}
	return []field{number("uid", int64(p.uid)), number("pid", int64(p.pid))}
}
