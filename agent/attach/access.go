package attach

import (
	"context"
	"fmt"

	"github.com/podstep/podstep/agent/attach/tokens"
	"github.com/podstep/podstep/agent/server"
)

// Rights are what clients of other machines may do without a token, as people write it.
var Rights = []string{"nothing", "look", "hold"}

// rightOf returns one of Rights; by default it is look.
func rightOf(text string) server.Right {
	switch text {
	case "nothing":
		return server.Nothing
	case "hold":
		return server.Hold
	}
	return server.Look
}

// access returns what clients of other machines may do.
func (s *Session) access() server.Access {
	s.tokens = tokens.New(s.target.login, s.target.loginErr)
	return server.Access{Without: rightOf(s.o.WithoutToken), Namespace: s.o.TokenNamespace, Review: s.tokens.Review}
}

// checkTokens tells people if no token can count, where one is needed.
func (s *Session) checkTokens(ctx context.Context) {
	without := rightOf(s.o.WithoutToken)
	if without == server.Hold || s.o.ReadOnly && without == server.Look {
		return
	}
	if err := s.tokens.Check(ctx); err != nil && ctx.Err() == nil {
		s.note(fmt.Sprintf("clients of other machines may do no more than %s, because tokens cannot be checked", Rights[without]), err)
	}
}
