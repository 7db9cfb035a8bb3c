package server

import (
	"context"
	"path"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/words"
)

// Right is what a client may do.
type Right int

// The rights, each with those before it. agentpb.Rights has their names.
const (
	Nothing Right = iota
	Look
	Hold
)

func (r Right) String() string { return agentpb.Rights[r] }

// RightNamed returns the right of a name. The empty name is that of the default, Look.
func RightNamed(name string) Right {
	if i := slices.Index(agentpb.Rights, name); i >= 0 {
		return Right(i)
	}
	return Look
}

// Access is what clients of other machines may do. Those of this machine may do everything.
type Access struct {
	// Without is what they may do without a token.
	Without Right
	// Namespace has the ServiceAccounts whose tokens count.
	Namespace string
	// Review asks the API server about a token. It returns the account and the token's id, or why the token does not count.
	Review func(ctx context.Context, token string) (Account, *agentpb.Problem)
}

// Account is a ServiceAccount whose token is valid, by the API server.
type Account struct{ Namespace, Name, Credential string }

// maxUser bounds the name that a client gives, in bytes.
const maxUser = 200

type callerKey struct{}

// admit returns the context of a request with the client that makes it, or an error if the client may not make it.
func (a *Access) admit(ctx context.Context, method string) (context.Context, error) {
	by := PeerFrom(ctx)
	if !by.elsewhere {
		return ctx, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	by.user = claimed(first(md.Get(agentpb.UserKey)))
	need, right := rightTo[agentpb.AccountFor(method)], a.Without
	var why *agentpb.Problem
	// A client that looks leaves no name anywhere, so that its token matters only where it is needed.
	if token, shown := strings.CutPrefix(first(md.Get(agentpb.TokenKey)), "Bearer "); shown && (need == Hold || right < need) {
		var given Right
		given, why = a.rightBy(ctx, token, &by)
		right = max(right, given)
	}
	if right < need {
		return nil, reason.Failed(codes.PermissionDenied, &agentpb.Problem{
			Code: agentpb.Problem_TOKEN_NEEDED, Args: map[string]string{"account": path.Join(a.Namespace, agentpb.AccountFor(method))}, Cause: why,
		})
	}
	return context.WithValue(ctx, callerKey{}, by), nil
}

func (a *Access) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := a.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(ctx, req)
}

func (a *Access) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := a.admit(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(srv, admitted{stream, ctx})
}

// admitted is a stream whose context knows the client.
type admitted struct {
	grpc.ServerStream
	ctx context.Context
}

func (s admitted) Context() context.Context { return s.ctx }

// rightTo has the right that each account gives.
var rightTo = map[string]Right{agentpb.AccountLook: Look, agentpb.AccountHold: Hold}

// rightBy returns the right that a token gives, and notes whose it is.
func (a *Access) rightBy(ctx context.Context, token string, by *Peer) (Right, *agentpb.Problem) {
	if a.Review == nil {
		return Nothing, &agentpb.Problem{Code: agentpb.Problem_TOKEN_UNCHECKED, Args: map[string]string{"error": "it knows no API server"}}
	}
	who, why := a.Review(ctx, token)
	if why != nil {
		return Nothing, why
	}
	name := path.Join(who.Namespace, who.Name)
	right := rightTo[who.Name]
	if right == Nothing || who.Namespace != a.Namespace {
		return Nothing, &agentpb.Problem{Code: agentpb.Problem_TOKEN_OF_OTHER, Args: map[string]string{"user": name}}
	}
	by.account, by.credential = name, who.Credential
	return right, nil
}

// claimed returns a name that a client gave, fit to be shown.
func claimed(name string) string {
	if len(name) > maxUser {
		name = redact.Begin(name[:maxUser])
	}
	return redact.Text(words.OneLine(name))
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
