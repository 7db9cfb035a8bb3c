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

// Peer is the process at the other end of a connection, as the kernel reports it. If the client is on another machine,
// Peer also has what its token proves, and the name that it gives. The zero value is nobody.
type Peer struct {
	uid       uint32
	pid       int32
	elsewhere bool

	account, credential string // proven by a token
	user                string // given by the client
}

// PeerFrom returns the process that makes a request.
func PeerFrom(ctx context.Context) Peer {
	if p, ok := ctx.Value(callerKey{}).(Peer); ok {
		return p
	}
	if p, ok := grpcpeer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(peerInfo); ok {
			return info.peer
		}
	}
	return Peer{}
}

// IsUser reports whether the process is one of a user, and of a client that gave this name: empty if it gave none.
func (p Peer) IsUser(uid uint32, name string) bool {
	return p != Peer{} && p.uid == uid && p.user == name
}

// Proto returns the process as a message; nil for nobody.
func (p Peer) Proto() *agentpb.Peer {
	if p == (Peer{}) {
		return nil
	}
	return &agentpb.Peer{Uid: p.uid, Pid: p.pid, Account: p.account, User: p.user, Credential: p.credential}
}

// Fields returns the fields that name the process in an event.
func (p Peer) Fields() []wire.Field {
	if p == (Peer{}) {
		return nil
	}
	out := []wire.Field{wire.Number("uid", int64(p.uid)), wire.Number("pid", int64(p.pid))}
	for _, f := range []struct{ name, text string }{{"account", p.account}, {"user", p.user}, {"credential", p.credential}} {
		if f.text != "" {
			out = append(out, wire.Text(f.name, f.text))
		}
	}
	return out
}

// peerCredentials lets in root and the user that the agent runs as. It notes which clients are on another machine.
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
	c, elsewhere, err := peer.IsElsewhere(c)
	if err != nil {
		return nil, nil, err
	}
	return c, peerInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}, Peer{uid: client.Uid, pid: client.Pid, elsewhere: elsewhere}}, nil
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
