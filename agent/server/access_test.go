package server

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/peer"
	"github.com/podstep/podstep/agent/reason"
)

// echo answers each request with the client that it sees.
type echo struct {
	agentpb.UnimplementedAgentServer
}

func (echo) Info(ctx context.Context, _ *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	return &agentpb.InfoResponse{You: PeerFrom(ctx).Proto()}, nil
}

func (echo) Hold(ctx context.Context, _ *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	return &agentpb.HoldInfo{Peer: PeerFrom(ctx).Proto()}, nil
}

func (echo) HoldWhile(_ *agentpb.HoldRequest, s grpc.ServerStreamingServer[agentpb.HoldInfo]) error {
	return s.Send(&agentpb.HoldInfo{Peer: PeerFrom(s.Context()).Proto()})
}

// reviewed stands for the API server: it knows a token for each of some accounts.
func reviewed(_ context.Context, token string) (Account, *agentpb.Problem) {
	account, ok := strings.CutSuffix(token, "-token")
	if !ok {
		return Account{}, &agentpb.Problem{Code: agentpb.Problem_TOKEN_INVALID, Args: map[string]string{"error": "over"}}
	}
	namespace, name, _ := strings.Cut(account, "/")
	return Account{namespace, name, "JTI=7"}, nil
}

// serveEcho serves echo, and returns a client that is on this machine, or on another.
func serveEcho(t *testing.T, access Access, elsewhere bool) agentpb.AgentClient {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(Serve(echo{}, l, access).Stop)
	conn, err := grpc.NewClient("passthrough:///a", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
		c, err := net.Dial("unix", path)
		if err == nil && elsewhere {
			err = peer.MarkElsewhere(c)
		}
		return c, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return agentpb.NewAgentClient(conn)
}

// TestAccess: what a client of another machine may do with which token, by the agent's setting.
func TestAccess(t *testing.T) {
	const none, look, hold = "", "kube-system/podstep-look-token", "kube-system/podstep-hold-token"
	for _, c := range []struct {
		name       string
		without    Right
		token      string
		look, hold bool
		why        agentpb.Problem_Code
	}{
		{"nothing", Nothing, none, false, false, 0},
		{"nothing, a token to look", Nothing, look, true, false, 0},
		{"nothing, a token to hold", Nothing, hold, true, true, 0},
		{"look", Look, none, true, false, 0},
		{"look, a token to look", Look, look, true, false, 0},
		{"look, a token to hold", Look, hold, true, true, 0},
		{"hold", Hold, none, true, true, 0},
		{"hold, a token that is over", Hold, "over", true, true, 0},
		{"a token that is over", Look, "over", true, false, agentpb.Problem_TOKEN_INVALID},
		{"the account of another namespace", Look, "shop/podstep-hold-token", true, false, agentpb.Problem_TOKEN_OF_OTHER},
		{"another account", Look, "kube-system/default-token", true, false, agentpb.Problem_TOKEN_OF_OTHER},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := serveEcho(t, Access{Without: c.without, Namespace: "kube-system", Review: reviewed}, true)
			ctx := metadata.AppendToOutgoingContext(t.Context(), agentpb.UserKey, "alice 爱丽丝\x1b[2J")
			if c.token != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, agentpb.TokenKey, "Bearer "+c.token)
			}
			info, err := client.Info(ctx, &agentpb.InfoRequest{})
			checkMay(t, "look", err, c.look, agentpb.AccountLook, c.why)
			if c.look && !strings.HasPrefix(info.GetYou().GetUser(), "alice") {
				t.Errorf("a client that looks is %v", info.GetYou())
			}
			h, err := client.Hold(ctx, &agentpb.HoldRequest{})
			checkMay(t, "hold", err, c.hold, agentpb.AccountHold, c.why)
			s, err := client.HoldWhile(ctx, &agentpb.HoldRequest{})
			if err == nil {
				_, err = s.Recv()
			}
			checkMay(t, "hold while connected", err, c.hold, agentpb.AccountHold, c.why)
			if p := h.GetPeer(); c.hold && c.token == hold && (p.GetAccount() != "kube-system/podstep-hold" || p.GetCredential() != "JTI=7" || strings.ContainsRune(p.GetUser(), '\x1b')) {
				t.Errorf("a client that holds is %v", p)
			}
		})
	}
}

func checkMay(t *testing.T, what string, err error, may bool, account string, why agentpb.Problem_Code) {
	t.Helper()
	if may {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return
	}
	p := reason.ProblemOf(err)
	if status.Code(err) != codes.PermissionDenied || p.GetCode() != agentpb.Problem_TOKEN_NEEDED || p.GetArgs()["account"] != "kube-system/"+account || p.GetCause().GetCode() != why {
		t.Errorf("%s: %v, %v", what, err, p)
	}
}

// TestAccessHere: on this machine no token is asked for, and none is needed.
func TestAccessHere(t *testing.T) {
	client := serveEcho(t, Access{Review: func(context.Context, string) (Account, *agentpb.Problem) {
		t.Error("a token of this machine is reviewed")
		return Account{}, nil
	}}, false)
	ctx := metadata.AppendToOutgoingContext(t.Context(), agentpb.TokenKey, "Bearer x", agentpb.UserKey, "alice")
	h, err := client.Hold(ctx, &agentpb.HoldRequest{})
	if err != nil || h.GetPeer().GetUser() != "" {
		t.Errorf("%v, %v", h, err)
	}
}

// TestAccessWithoutAPIServer: an agent that knows no API server lets nobody hold by a token, and says so.
func TestAccessWithoutAPIServer(t *testing.T) {
	client := serveEcho(t, Access{Without: Look, Namespace: "kube-system"}, true)
	_, err := client.Hold(metadata.AppendToOutgoingContext(t.Context(), agentpb.TokenKey, "Bearer x"), &agentpb.HoldRequest{})
	checkMay(t, "hold", err, false, agentpb.AccountHold, agentpb.Problem_TOKEN_UNCHECKED)
}
