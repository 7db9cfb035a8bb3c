package server

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/reason"
)

// TestPanicsAreCleaned: a panic of a request is an error of it, and shows no
// secret.
func TestPanicsAreCleaned(t *testing.T) {
	set := canary.NewSet()
	c := set.Value("secret")
	_, unary := catchUnary(t.Context(), nil, nil, func(context.Context, any) (any, error) { panic(c) })
	stream := catchStream(nil, nil, nil, func(any, grpc.ServerStream) error { panic(errors.New(c)) })
	for what, err := range map[string]error{"a request": unary, "a stream": stream} {
		if found := set.FindString(fmt.Sprint(err, reason.ProblemOf(err))); found != nil {
			t.Errorf("a panic of %s shows %v", what, found)
		}
		if status.Code(err) != codes.Internal || reason.CodeOf(err) != agentpb.Problem_INTERNAL {
			t.Errorf("a panic of %s is %v", what, err)
		}
	}
}
