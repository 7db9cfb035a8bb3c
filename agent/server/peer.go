package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc/credentials"
	grpcpeer "google.golang.org/grpc/peer"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/peer"
	"github.com/podstep/podstep/agent/wire"
)

// Peer is the process at the other end of a connection, as the kernel
// reports it. The zero value is nobody.
type Peer struct {
	uid uint32
	pid int32
}

// PeerFrom returns the process that makes a request.
func PeerFrom(ctx context.Context) Peer {
	if p, ok := grpcpeer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(peerInfo); ok {
			return info.peer
		}
	}
	return Peer{}
}

// IsUser reports whether the process is one of a user.
func (p Peer) IsUser(uid uint32) bool { return p != Peer{} && p.uid == uid }

// Proto returns the process as a message; nil for nobody.
func (p Peer) Proto() *agentpb.Peer {
	if p == (Peer{}) {
		return nil
	}
	return &agentpb.Peer{Uid: p.uid, Pid: p.pid}
}

// Fields returns the fields that name the process in an event.
func (p Peer) Fields() []wire.Field {
	if p == (Peer{}) {
		return nil
	}
	return []wire.Field{wire.Number("uid", int64(p.uid)), wire.Number("pid", int64(p.pid))}
}

// peerCredentials lets in root and the user that the agent runs as.
type peerCredentials struct{}

func (peerCredentials) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn := c
	if l, ok := c.(*limitedConn); ok {
		conn = l.Conn
	}
	client, err := peer.Of(conn)
	if err != nil {
		return nil, nil, err
	}
	if !peer.Trusted(client.Uid, os.Getuid()) {
		return nil, nil, fmt.Errorf("user %d may not speak to this agent", client.Uid)
	}
	return c, peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, Peer{client.Uid, client.Pid}}, nil
}

func (peerCredentials) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("peer credentials are for servers")
}

func (peerCredentials) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peercred"}
}
func (peerCredentials) Clone() credentials.TransportCredentials { return peerCredentials{} }
func (peerCredentials) OverrideServerName(string) error         { return nil }

type peerInfo struct {
	credentials.CommonAuthInfo
	peer Peer
}

func (peerInfo) AuthType() string { return "peercred" }
