package tokens

import (
	"cmp"
	"slices"
	"strings"

	authv1 "k8s.io/api/authentication/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/server"
)

// judge returns what a review says of a token.
func judge(s *authv1.TokenReviewStatus) (v verdict) {
	name, ofAccount := strings.CutPrefix(s.User.Username, ofAccounts)
	namespace, account, named := strings.Cut(name, ":")
	switch {
	case !s.Authenticated:
		v.why = problem(agentpb.Problem_TOKEN_INVALID, "error", cmp.Or(redact.Text(s.Error), "it is not valid, or over"))
	case !slices.Contains(s.Audiences, agentpb.Audience):
		// An authenticator that knows no audiences does not state any: then the token may be for somebody else.
		v.why = problem(agentpb.Problem_TOKEN_INVALID, "error", "its audience is not "+agentpb.Audience)
	case !ofAccount || !named:
		v.why = problem(agentpb.Problem_TOKEN_OF_OTHER, "user", s.User.Username)
	default:
		v.account = server.Account{Namespace: namespace, Name: account, Credential: first(s.User.Extra[credentialID])}
	}
	return v
}

func first(values authv1.ExtraValue) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func problem(code agentpb.Problem_Code, name, value string) *agentpb.Problem {
	return &agentpb.Problem{Code: code, Args: map[string]string{name: value}}
}
