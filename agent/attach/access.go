package attach

import (
	"context"
	"fmt"

	"github.com/podstep/podstep/agent/attach/tokens"
	"github.com/podstep/podstep/agent/server"
)

// access returns what clients of other machines may do.
func (s *Session) access() server.Access {
	s.tokens = tokens.New(s.target.login, s.target.loginErr)
	return server.Access{Without: server.RightNamed(s.o.WithoutToken), Namespace: s.o.TokenNamespace, Review: s.tokens.Review}
}

// checkTokens tells people if no token can count, where one is needed.
func (s *Session) checkTokens(ctx context.Context) {
	without := server.RightNamed(s.o.WithoutToken)
	if without == server.Hold || s.o.ReadOnly && without == server.Look {
		return
	}
	if err := s.tokens.Check(ctx); err != nil && ctx.Err() == nil {
		s.note(fmt.Sprintf("clients of other machines may do no more than %s, because tokens cannot be checked", without), err)
	}
}
